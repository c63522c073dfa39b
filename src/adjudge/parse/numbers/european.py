"""Numbers as judges write them in German, French, Spanish, Italian, Portuguese and Russian: 7 von 10 Punkten,
6,5/10, 7 sur 10, vier von fünf, "Note : 4".
"""

from __future__ import annotations

from ...lazy_patterns import lazily

_IN_WORDS = (
    "null zéro cero|eins ein un una uno um uma|zwei deux dos due dois|drei trois tres tre três|"
    "vier quatre cuatro quattro quatro|"
    "fünf cinq cinco cinque|sechs six seis sei|sieben sept siete sette sete|"
    "acht huit ocho otto oito|neun neuf nueve nove|zehn dix diez dieci dez"
)
WORDS: dict[str, float] = {
    word: float(value) for value, words in enumerate(_IN_WORDS.split("|")) for word in words.split()
}
_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
OUT_OF_IN_WORDS = lazily(rf"({_WORD})\s(?:von|sur|de|su|em)\s({_WORD})\b")
"""A score in words, only with the most there was: "vier von fünf", "quatre sur cinq"."""

UNITS = (
    r"punkten?\b|punkt\b|sternen?\b|puntos?\b|punti\b|pontos?\b|балл(?:а|ов)?\b"
    r"|estrellas?\b|étoiles?\b|stelle\b|estrelas?\b"
)
OUT_OF = (
    r"(?:von|sur|sobre|su|de|из)"
    r"(?=\s[0-9]{1,3}(?:\s?(?:punkt|stern|point|punt|pont|étoile|estrel|stell|балл)|\s?[.,;:!?)\n]|\s?\Z"
    r"|\s[-–—(]))"
)
"""Between the score and the most there was; "3 von 10 Sätzen" counts sentences."""
RANGE = r"bis\b|oder\b|à\b|ou\b|a\b|o\b|до\b|или\b|から"
DECIMAL = lazily(
    r"([0-9]{1,3}),([0-9]{1,2})(?:[ \t]?/[ \t]?([0-9]{1,3})|(?=[ \t](?:punkt|von|sur|sobre|su)))(?![0-9,])"
)
"""A decimal comma, only where what follows leaves no doubt: "6,5/10", "6,5 Punkte"."""

SCORE_WORDS = (
    "bewertung wertung punktzahl gesamtpunktzahl gesamtbewertung endbewertung gesamtwertung gesamtnote "
    "endnote endergebnis punkte puntuación puntuacion puntaje calificación calificacion punteggio voto "
    "pontuação pontuacao оценка балл"
).split()
FINAL_NOTE = r"note\s(?:finale|globale|attribuée)|note(?=\s:)"
"""A French mark; a note in English has no space before its colon."""

DECIMAL_BEHIND_LABEL = lazily(
    rf"(?:{'|'.join(SCORE_WORDS)}|note\s?(?:finale|globale)?|nota)\s?[:=]\s{{0,2}}$"
)
PLAIN_DECIMAL = lazily(r"([0-9]{1,2}),([0-9]{1,2})(?=\s*(?:$|\n|[.;(]))")
"""A decimal comma behind a label in one of these languages: "Bewertung: 3,5"."""
