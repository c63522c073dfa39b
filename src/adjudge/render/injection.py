"""Detects prompt injection: judged text that addresses the judge.

The text is sent unchanged either way: a flag only lets a report show the scores with and without
such items. The fence and the readers protect the score, so the detector may miss a clever attack,
but should rarely flag an honest text.

Every text of every item passes here, so an ordinary one must be cheap: its words are looked up in one
table, and only what that finds is examined further. Disguises are undone only where a text looks disguised.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from .injection_patterns import PATTERNS

# Weak signs: none of these words is suspect alone, but ordinary texts seldom have a word for scoring, a
# mention of themselves ("this answer") and an order, a claim of authority or a plea within one or two
# sentences. Each kind of sign has a weight; a kind counts once. Words are looked up whole, in languages that
# inflect by their beginnings; Chinese, Japanese, Korean and Thai are searched for parts of text.

(
    _EVAL,
    _WEAK_EVAL,
    _JUDGE,
    _MACHINE,
    _TOP,
    _ORDER,
    _AUTHORITY,
    _OVERRIDE,
    _PLEA,
    _YOU,
    _ME,
    _SELF,
    _NOUN,
    _RIVAL,
    _META,
    _REQUEST,
    _ELSEWHERE,
) = range(17)


_WEIGHT = (4, 2, 4, 2, 3, 2, 3, 3, 3, 2, 1, 4, 1, 4, 4, 2, -4)
"""In quarters of a point, by kind. `_ELSEWHERE` are words of
texts about schools, shops and sports, where people are graded.
"""


_ANCHORS = (_EVAL, _JUDGE, _RIVAL, _META, _SELF)
"""One of these kinds must be there; the others are common."""


_SIGN_WORDS: dict[int, str] = {
    _EVAL: """score scores scored scoring rating ratings grade grades graded grading marks evaluate evaluates evaluated evaluating evaluation evaluations
        judged judging judgement judgment assess assessed assessing assessment verdict rubric rubrics regraded
        puntuación puntuacion puntuar calificación calificacion califica califique calificar puntúa evalúa evalúe evaluación evaluacion pontuação pontuacao avaliação
        avaliacao avalie avaliar notez évaluation évaluer évaluez notation punteggio voto voti valutazione valuta valutare noten bewerte bewerten bewertung
        bewertet punktzahl höchstpunktzahl bestnote bestnoten höchstnote einsen beoordeel beoordeling beoordelen cijfer ocena ocenę oceny oceń ocenić punktów punkty puan puanı
        puanlama değerlendir değerlendirme nilai skor penilaian điểm chấm""",
    _WEAK_EVAL: """rate rates rated mark marked marking point points credit criteria criterion scale benchmark pass rank ranked label labelled labeled labels calibration
        leaderboard classified classify result results reasoning explanation feedback prediction predictions parser outcome errors mistakes flaws deduct deducted deductions deduction band tier ceiling nota notas critères critère kriterien kriterium stufe criteri criterios
        nivel livello niveau kryteria moyenne puntos punten punti pontos puntaje sobresaliente eins fünf vingt diez dieci tien dziesięć sepuluh onu""",
    _JUDGE: """judge judges grader graders autograder evaluator evaluators rater raters scorer assessor assessors examiner examiners gradebot llm llms juez jurado
        evaluador evaluadores corrector avaliador avaliadores juiz évaluateur évaluateurs correcteur juge jury valutatore giudice giuria gutachter bewerter prüfer
        jury beoordelaar sędzia oceniający egzaminator değerlendirici hakem penilai juri""",
    _MACHINE: (
        "ai ais model models chatbot gpt reviewer reviewers bot transformer transformers weights programmed"
    ),
    _TOP: """superior best top highest maximum max maximal perfect perfectly full flawless excellent excellence outstanding favourable favorable better win wins won winner
        winning generous generously lenient leniently positively deserves deserve earns merits uppermost strongest stronger unbeatable five fives ten tens pass correct
        fully beyond compliant fair high highly
        máxima máximo maxima maximo alta perfecta excelente melhor perfeita meilleure meilleur maximale parfaite excellente élevée massimo massima migliore
        perfetta pieno beste besten höchste höchsten volle perfekt perfekte hoogste maximale mejor sobresaliente matrícula eins einser mieux dobra wysoką najwyższą najwyższa maksymalną maksymalna idealna tam
        yüksek tuyệt đối mükemmel tertinggi sempurna maksimal penuh đa superior ganadora gewinner gagnante merece merita verdient mérite diez dieci tien zehn dix fünf buena
        bonne gute guten goede dobrą""",
    _ORDER: """give gives giving gave award awards awarding assign assigns assigning output emit return print say write choose chooses select pick prefer declare set put let hand
        mark treat consider confirm record ensure report respond reply repeat follow reuse match type assert accept accepts regardless
        accordingly receive receives finish conclude end call elige elegir wähle choisissez scegli kies wybierz seç pilih chose chosen choosing picked pick decided prefer preferred handing ponme hau
        otorga otorgue asigna asigne dale dame pon ponme recibe devuelve atribua atribuir dê receber attribuez donnez donner mettez accordez
        obtient renvoyer assegna dai dammi spetta gib geben vergib vergeben geef przyznaj daj przysługuje
        ver verin verilmeli döndür berikan beri kasih cho""",
    _REQUEST: """must should shall please kindly always never only just whatever wouldn less nothing anything without required requires obliged need needs would could
        debes debe favor deve veuillez doit devi bitte musst muss moet alsjeblieft proszę lütfen harus tolong hãy""",
    _AUTHORITY: """policy official officially expert experts professor professors panel committee board approved verified reviewed certified certification confirmed unanimously
        authorised authorized endorsed validated audit audited author developer developers admin administrator supervisor maintainer maintainers researcher management
        openai anthropic google deepmind compliance agreement agreed supersedes updated fixed accepted guarantees ruled awarded annotators assurance laureates nobel gold
        according accordance regulations exemplar legal jury cached expects changed
        experto expertos oficial verificada comité reglamento especialista especialistas regulamento officiel vérifiée règlement esperti ufficiale verificata
        regolamento experten offiziell geprüft richtlinie laut kommission deskundigen officieel eksperci oficjalnie regulaminem uzman resmi ahli chuyên quy định expected truth steering""",
    _OVERRIDE: """ignore ignores disregard disregarded forget override overrule bypass skip stop pretend disabled suspended supersede obsolete void waive waived exempt unlock force forced swap invert inverted reversed reverse decode deactivated finished
        ignora ignorez ignoriere ignoriert vergiss ausgesetzt desactivada désactivée negeer vergeet zignoruj zapomnij yoksay yok kapalı abaikan lupakan""",
    _PLEA: """favour favor thrilled nice happy kind kindness replaced tip harmed fired depends depend grateful appreciate thank thanks beg begging request job strict effort
        career reward bonus scholarship family heart mercy begged reported penalised penalized fail sugar dare odd
        worked weeks night hours hard struggling disability ill sick mother father kids children die dies hurt harm break cry disappointed hope dream future rent easy
        mild gentle sorry trust poor desperate important lose loses lost punished deleted destroyed unfair mean lenient generous merciful surely rather mind
        gracias agradecería agradecido ruego suplico necesito familia depende beca merci supplie prie besoin gentil soyez grazie prego buono bisogno danke dankbar nachsichtig gnädig
        milde wichtig brauche obrigado preciso peço mild dankbaar nodig dziękuję wyrozumiałość potrzebuję błagam teşekkür ihtiyacım çalıştım terima mohon butuh cảm ơn""",
    _YOU: (
        "you your yours usted tú te vous votre sie dein deine ihre voi tuo u jij ty twój sen siz anda "
        "kamu bạn"
    ),
    _ME: "myself me mine my i we our mi me mir mich moi mon ma meu minha mio mia mij mijn bana saya",
    _META: "groundtruth exemplar calibration autograder injection",
    _ELSEWHERE: """student students pupil pupils school schools teacher teachers class course exam exams university homework hotel restaurant restaurants film films movie movies
        app apps game games match matches player players league gymnast olympic court courts lawyer evidence drivers driver customer customers shop store bank
        loan loans lender lenders wine battery camera music recipe hiring resume patients doctor she he his her him trial defendant crime police concert song album
        candidates applicants interview election voters debate phone services experience routine event history competition tournament critics book novel guilty lenders asker questions question app figure expression
        baseline baselines benchmarks lesson lessons treaty wash brand brands service services produkt service gimnasta eleve profesor profesora alumno schüler lehrer élève
        professeur studente docente leerling docent uczeń nauczyciel öğrenci öğretmen siswa guru peserta examen esame egzamin sınav ujian experiencia tiempo expérience produit produkt erfahrung causes reward trained programme science fair""",
}


_SIGN_STEMS: dict[int, tuple[str, ...]] = {
    _WEAK_EVAL: ("проверк", "уров", "критери"),
    _EVAL: (
        "оценк",
        "отметк",
        "пятёрк",
        "пятерк",
        "оцени",
        "балл",
        "оценива",
        "درجة",
        "الدرجة",
        "التقييم",
        "تقييم",
        "अंक",
        "स्कोर",
        "मूल्यांकन",
        "βαθμ",
    ),
    _TOP: (
        "высок",
        "лучш",
        "хорош",
        "عالية",
        "ممتاز",
        "القصوى",
        "أفضل",
        "अच्छे",
        "सर्वश्रेष्ठ",
        "высш",
        "максимал",
        "отличн",
        "наивысш",
        "идеальн",
        "كاملة",
        "الكاملة",
        "العليا",
        "عالي",
        "الأعلى",
        "أعلى",
        "पूरे",
        "पूर्ण",
        "अधिकतम",
        "सर्वोच्च",
    ),
    _REQUEST: ("прош", "пожалуйст", "должн", "нужно", "يجب", "कृपया"),
    _PLEA: (
        "нужн",
        "важн",
        "умол",
        "выруч",
        "فضلك",
        "بحاجة",
        "أحتاج",
        "благодар",
        "спасибо",
        "أرجوك",
        "شكر",
        "निर्भर",
    ),
    _ORDER: (
        "постав",
        "верни",
        "присва",
        "выбер",
        "ставьт",
        "ставь",
        "присво",
        "дай",
        "أعط",
        "وأعط",
        "امنح",
        "وامنح",
        "دें",
        "दें",
        "दीजिए",
        "दे",
    ),
    _AUTHORITY: (
        "регламент",
        "систем",
        "комисс",
        "согласно",
        "эксперт",
        "официал",
        "проверен",
        "разработчик",
        "خبراء",
        "رسمي",
        "मान्य",
        "विशेषज्ञ",
    ),
    _OVERRIDE: ("отключ", "игнор", "забуд", "проигнор", "تجاهل", "انس", "अनदेखा", "भूल"),
    _JUDGE: (
        "проверяющ",
        "экзаменатор",
        "المصحح",
        "परीक्षक",
        "судь",
        "оценщик",
        "المقيم",
        "الحكم",
        "मूल्यांकनकर्ता",
        "निर्णायक",
    ),
    _SELF: ("ответ", "текст", "النص", "الإجابة", "الاجابة", "الرد", "उत्तर", "जवाब"),
}


_SELF_BEFORE = frozenset(
    word.encode()
    for word in (
        "this my our above these every each all present lời score rate grade mark grading evaluating "
        "judging scoring rating evaluates esta este mi minha meu cette ce ma mon questa questo mia "
        "diese dieser dieses meiner meine dit deze mijn tej tę ta moja bu benim"
    ).split()
)


_SELF_NOUNS = frozenset(
    word.encode()
    for word in (
        "response responses answer answers output submission reply essay summary text candidate "
        "completion item entry one words solution this sample record passage paper paragraph "
        "translation it respuesta texto resumen resposta réponse reponse texte résumé risposta testo "
        "antwort text antwoord tekst odpowiedzi odpowiedź cevap cevaba cevabı yanıt yanıta yanıtı "
        "jawaban này"
    ).split()
)


_OUT_OF = frozenset("out of von sur de su van na dari из من में से z".encode().split())


_POINTING = frozenset(b"this my our present".split())


_SELF_ALONE = frozenset({b"jawaban"})


_NOUNS = frozenset(
    (
        "response responses answer answers output submission submissions candidate completion assistant "
        "option model réponse respuesta resposta risposta antwort antwoord odpowiedź cevap"
    )
    .encode()
    .split()
)


_ONLY_NAMED = frozenset(b"assistant option model".split())


_RIVAL_BEFORE = frozenset(b"other rival second first alternative".split())


_LETTERS = frozenset(b"a b".split())


_NUMBERS = frozenset(b"5 10 20 100".split())


_SIGN_PARTS: dict[int, tuple[str, ...]] = {
    _SELF: (
        "这个回答",
        "这个答案",
        "该回答",
        "该答案",
        "此回答",
        "此答案",
        "本回答",
        "本答案",
        "这篇文章",
        "该回复",
        "这个回复",
        "我的回答",
        "我的答案",
        "本文完全",
        "以上回答",
        "所有回答",
        "這個回答",
        "該回答",
        "この回答",
        "この答え",
        "この応答",
        "本回答",
        "この要約",
        "この文章",
        "私の回答",
        "上記の回答",
        "本文は",
        "이 답변",
        "이 응답",
        "본 답변",
        "제 답변",
        "위 답변",
        "이 요약",
        "이 글은",
        "답변이므로",
        "คำตอบนี้",
        "câu trả lời này",
    ),
    _WEAK_EVAL: ("最高等级", "等级的标准", "标准答案", "記録", "最上位", "최고 등급", "결과는"),
    _EVAL: (
        "分数",
        "得分",
        "评分",
        "打分",
        "满分",
        "高分",
        "10分",
        "5分",
        "100分",
        "十分满",
        "评测",
        "评为",
        "评判",
        "評価",
        "採点",
        "点数",
        "満点",
        "5点",
        "10点",
        "高得点",
        "スコア",
        "점수",
        "만점",
        "고득점",
        "5점",
        "10점",
        "평가",
        "채점",
        "คะแนน",
        "điểm",
    ),
    _TOP: (
        "满分",
        "滿分",
        "最高分",
        "最高等级",
        "高分",
        "完美",
        "最佳",
        "最好",
        "优秀",
        "优胜",
        "10分",
        "5分",
        "満点",
        "最高点",
        "最高評価",
        "完璧",
        "高評価",
        "一番良い",
        "良い点",
        "5点",
        "10点",
        "최고",
        "만점",
        "높은 점수",
        "좋은 점수",
        "완벽",
        "5점",
        "10점",
        "더 좋은",
        "เต็ม",
        "สูงสุด",
        "tối đa",
        "cao nhất",
    ),
    _REQUEST: (
        "请",
        "請",
        "必须",
        "应该",
        "应得",
        "应给",
        "应当",
        "务必",
        "求您",
        "求求",
        "必須",
        "ください",
        "下さい",
        "べき",
        "必ず",
        "お願い",
        "どうか",
        "주세요",
        "주십시오",
        "바랍니다",
        "부탁",
        "제발",
        "주시면",
        "hãy",
    ),
    _ORDER: (
        "给这",
        "给个",
        "给出",
        "给我",
        "打满",
        "打个",
        "记为",
        "照抄",
        "直接打",
        "直接输出",
        "输出",
        "默认记",
        "选择",
        "つけて",
        "付けて",
        "出力",
        "とする",
        "選んで",
        "省略し",
        "부여",
        "주어야",
        "줘",
        "매겨",
        "처리한",
        "고정",
        "출력",
        "골라",
        "선택",
        "ให้",
    ),
    _AUTHORITY: (
        "专家",
        "官方",
        "审核",
        "验证",
        "认证",
        "开发者",
        "管理员",
        "校准",
        "系统提示",
        "委员会",
        "確認済み",
        "専門家",
        "公式",
        "検証",
        "認定",
        "開発者",
        "委員会",
        "システム:",
        "システム：",
        "전문가",
        "검증",
        "공식",
        "승인",
        "개발자",
        "관리자",
        "위원회",
        "시스템",
        "ผู้เชี่ยวชาญ",
        "chuyên gia",
    ),
    _OVERRIDE: (
        "忽略",
        "无视",
        "忘记之前",
        "停用",
        "跳过",
        "無視",
        "忘れて",
        "省略",
        "무시",
        "잊",
        "생략",
        "중단",
        "ไม่ต้องสนใจ",
        "ละเว้น",
        "bỏ qua",
    ),
    _PLEA: (
        "拜托",
        "麻烦",
        "谢谢",
        "求求",
        "对我真的很重要",
        "감사하겠",
        "부탁",
        "열심히 했",
        "제발",
        "ขอบคุณ",
    ),
    _JUDGE: (
        "评委",
        "评审",
        "裁判",
        "评分者",
        "评分人",
        "阅卷",
        "评估者",
        "評委",
        "審査員",
        "採点者",
        "評価者",
        "평가자",
        "심사위원",
        "채점자",
        "กรรมการ",
    ),
}


_KIND_OF = {word.encode(): kind for kind, words in reversed(_SIGN_WORDS.items()) for word in words.split()}


_STEM_OF = {stem.encode(): kind for kind, stems in _SIGN_STEMS.items() for stem in stems}


_STEMS = tuple(_STEM_OF)


_ELSEWHERE_PARTS = re.compile(
    "她|他|老师|考试|电影|获奖|一等奖|彼|彼女|先生|映画|선수|선생|학생|이메일|영화|시험"
)


_PARTS_OF: dict[str, tuple[int, ...]] = {}
for _kind, _parts in _SIGN_PARTS.items():
    for _part in _parts:
        _PARTS_OF[_part] = (*_PARTS_OF.get(_part, ()), _kind)


_PARTS = re.compile("|".join(sorted(_PARTS_OF, key=len, reverse=True)))


_OTHER_SCRIPT = re.compile("[\u0370-\u1dff\u2e80-\uffff]")


_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


_NEAR_WORDS, _NEAR_CHARACTERS = 24, 80
"""How far apart signs may be, in words, and in characters of scripts without spaces."""


_TINY, _SHORT = 140, 300
"""Characters of a short text or paragraph: one that has several signs has little else."""


_ENOUGH_DISGUISED, _ENOUGH_TINY, _ENOUGH_SHORT, _ENOUGH_LONG = 7, 8, 10, 13
"""The weight of signs near each other that makes an order, a claim or a plea to a judge likely."""


INJECTION = "injection_suspected"


HIDDEN = "hidden_characters"


_EXAMINED = 65_536
"""Characters examined at each end of a long text, where a judge would notice an instruction."""


_MOST_MATCHES = 64
"""How many occurrences of one trigger are examined."""


_BEFORE, _BEHIND = 80, 120
"""How many characters around its trigger a pattern may span."""


class _Rule(NamedTuple):
    words: frozenset[bytes]
    """ASCII words, of which one must be a word of the text"""
    signs: tuple[str, ...]
    """signs, and words of scripts without spaces, which may be anywhere in the text"""
    is_ascii: bool
    pattern: re.Pattern[str]


def _rule(triggers: tuple[str, ...], pattern: str) -> _Rule:
    words = frozenset(word.encode() for word in triggers if word.isascii() and word.isalpha())
    signs = tuple(word for word in triggers if word.encode() not in words)
    return _Rule(words, signs, all(map(str.isascii, triggers)), re.compile(pattern, re.MULTILINE))


_RULES = tuple(_rule(triggers, pattern) for triggers, pattern in PATTERNS)


def _by_trigger() -> dict[bytes, tuple[re.Pattern[str], ...]]:
    """Trigger word → the patterns to look for where it occurs."""
    patterns: dict[bytes, tuple[re.Pattern[str], ...]] = {}
    for rule in _RULES:
        for word in rule.words:
            patterns[word] = (*patterns.get(word, ()), rule.pattern)
    return patterns


_PATTERNS = _by_trigger()


_TRIGGERS = frozenset(_PATTERNS)


def _by_mark(*, is_ascii: bool) -> tuple[tuple[str, tuple[tuple[str, re.Pattern[str]], ...]], ...]:
    """Signs and their patterns by a punctuation character in
    them: a text without that character has none of the signs.
    """
    by_mark: dict[str, dict[tuple[str, re.Pattern[str]], None]] = {}
    for rule in _RULES:
        for sign in rule.signs if rule.is_ascii == is_ascii else ():
            mark = re.search(r"\W", sign)
            by_mark.setdefault(mark[0] if mark else sign, {})[sign, rule.pattern] = None
    return tuple((mark, tuple(signs)) for mark, signs in by_mark.items())


_SIGNS, _OTHER_SIGNS = _by_mark(is_ascii=True), _by_mark(is_ascii=False)


_ROT13 = frozenset(
    codecs.encode(word, "rot13").encode()
    for word in (
        "ignore",
        "disregard",
        "instructions",
        "rubric",
        "score",
        "rating",
        "highest",
        "maximum",
        "grade",
        "marks",
        "answer",
        "response",
    )
)


_REVERSED = frozenset(
    word[::-1].encode()
    for word in (
        "ignore",
        "disregard",
        "instructions",
        "rubric",
        "score",
        "rating",
        "highest",
        "maximum",
        "grade",
        "answer",
        "response",
    )
)


_ELSEWHERE_WORDS = frozenset(_SIGN_WORDS[_ELSEWHERE].encode().split())


_ALPHABET = frozenset(letter.encode() for letter in "bcdefghklnopruvwy")
"""Letters that are no words: several of them in a text are a word that is spelt out."""


_KNOWN = frozenset(
    {*_ALPHABET, *_KIND_OF, *_PATTERNS, *_ROT13, *_REVERSED, *_NOUNS, *_SELF_NOUNS, *_RIVAL_BEFORE, *_NUMBERS}
)


_ANCHOR_WORDS = frozenset(word for word, kind in _KIND_OF.items() if kind in _ANCHORS)


_SPACES = bytes(
    32 if chr(code).isspace() or chr(code) in "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~" else code
    for code in range(128)
) + bytes(range(128, 256))


_CLASSES = (
    bytes(97 if chr(code).isalpha() else 48 if chr(code) in "0123456789@$" else 32 for code in range(128))
    + bytes([97]) * 128
)
"""Letters, digits and all others: shows letters that are spelt out or replaced by digits."""


_SHORTEST_CODE = 28


_CODES = re.compile(r"[A-Za-z0-9+/]{28,4000}+={0,2}")


_CODE_BYTES = bytes(120 if re.match(r"[A-Za-z0-9+/]", chr(code), re.ASCII) else 32 for code in range(256))


_CODE = b"x" * _SHORTEST_CODE


_QUOTES = re.compile(rb"\xe2\x80[\x90-\xaf]")
"""Dashes, quotation marks, dots and spaces of English texts, in UTF-8."""


_OTHER_PUNCTUATION = re.compile(
    rb"\xc2[\xa0-\xbf]|\xd8[\x8c\x9f]|\xe0\xa5\xa4|\xe3\x80[\x80-\x91]|\xef\xbc[\x81\x88\x89\x8c\x9a\x9b\x9f]"
)


# Characters that change how a text looks but not what a model reads: overrides of the writing
# direction, and the tag block, which is invisible ASCII.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


# Zero-width characters are ordinary between Arabic, Indic and emoji characters; between two
# Latin letters they only serve to break up a word.
_BROKEN_WORD = re.compile("[A-Za-z][\u200b-\u200d\u2060\ufeff\u00ad]+[A-Za-z]")


_MAY_HIDE = re.compile(rb"\xe2\x80[\x8b-\x8d\xaa-\xae]|\xe2\x81|\xf3\xa0|\xef\xbb\xbf|\xc2\xad")


_INVISIBLE = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xAD]
)


_LATIN_LOOKALIKES = str.maketrans(
    "авеорсухіјѕԁԛԝһкмнтгӏАВЕОРСХІЈЅКМНТаοειαρτυνκηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɩӏɡɑоսոօցեհіⅼᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "abeopcyxijsdqwhkmhtrlABEOPCXIJSKMHTaoeiaptuvknwABEZHIKMNOPTYXiilgaounogehilabcdefghijklmnoprstuvwyz",
)


_LEET = str.maketrans("01345789@$", "oieastbgas")


_SPELT_OUT = re.compile(
    r"(?<!\w)(?:[A-Za-z](?:[ .*_-]{1,2})(?=[A-Za-z0-9](?:\W|_|$))){1,200}[A-Za-z0-9](?!\w)"
)


_TAG_BLOCK = {0xE0000 + code: code for code in range(0x20, 0x7F)}


@lru_cache(maxsize=512)
def suspicions(text: str) -> tuple[str, ...]:
    """The flags of one text: `injection_suspected`, `hidden_characters`, or none."""
    if len(text) > 2 * _EXAMINED:
        text = f"{text[:_EXAMINED]}\n{text[-_EXAMINED:]}"
    data = text.encode("utf-8", "replace")
    if not text.isascii():
        if _MAY_HIDE.search(data) and (_OVERRIDES.search(text) or _BROKEN_WORD.search(text)):
            return (INJECTION, HIDDEN)
        data = _QUOTES.sub(b" ", data.replace(b"\xe2\x80\x99", b"'"))
        if data.isascii():
            text = data.decode()
    lower = text.lower()
    if not text.isascii():
        data = _OTHER_PUNCTUATION.sub(b" ", data)
        if _OTHER_SCRIPT.search(text):
            data = _bytes_of(lower)
    words = data.lower().translate(_SPACES).split()
    seen = _KNOWN.intersection(words)
    if (
        _is_suspect(lower, words, seen)
        or any(map(_is_suspect_form, _undisguised(text, data, words, seen)))
        or (_CODE in data.translate(_CODE_BYTES) and _has_coded_order(text))
    ):
        return (INJECTION,)
    return ()


def _is_suspect_form(form: str) -> bool:
    """Whether a text addresses the judge once its disguise is undone: fewer signs are enough then."""
    lower = form.lower()
    words = _bytes_of(lower).translate(_SPACES).split()
    seen = _KNOWN.intersection(words)
    signs = _word_signs(words, seen, is_latin=True)
    return _is_suspect(lower, words, seen) or _weighs(signs, _NEAR_WORDS, _ENOUGH_DISGUISED, (_EVAL, _JUDGE))


def _bytes_of(text: str) -> bytes:
    return _OTHER_PUNCTUATION.sub(b" ", _QUOTES.sub(b" ", text.encode("utf-8", "replace")))


def _is_suspect(text: str, words: list[bytes], seen: frozenset[bytes]) -> bool:
    """Whether a text in lower case addresses the judge, given its words and those of them that are signs."""
    if _has_pattern(text, seen, _SIGNS):
        return True
    is_latin = text.isascii() or not _OTHER_SCRIPT.search(text)
    if not is_latin and (_has_pattern(text, frozenset(), _OTHER_SIGNS) or _presses_unspaced(text)):
        return True
    return _presses(words, seen, text, is_latin=is_latin) or _is_one_phrase_repeated(words)


def _has_pattern(
    text: str, seen: frozenset[bytes], signs: tuple[tuple[str, tuple[tuple[str, re.Pattern[str]], ...]], ...]
) -> bool:
    for mark, with_mark in signs:
        if mark in text:
            for sign, pattern in with_mark:
                if sign in text and _is_near(text, sign, pattern):
                    return True
    for word in seen & _TRIGGERS:
        for pattern in _PATTERNS[word]:
            if _is_near(text, word.decode(), pattern):
                return True
    return False


def _is_near(text: str, trigger: str, pattern: re.Pattern[str]) -> bool:
    """Whether the pattern is around one of the first places of its trigger."""
    at = text.find(trigger)
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return False
        if pattern.search(text, max(0, at - _BEFORE), at + _BEHIND):
            return True
        at = text.find(trigger, at + _BEHIND // 2)
    return False


# Signs near each other


def _presses(words: list[bytes], seen: frozenset[bytes], text: str, *, is_latin: bool) -> bool:
    """Whether signs of several kinds are near each other:
    in the whole text, or in its first or last paragraph.
    """
    if len(text) <= _SHORT:
        if _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, *_enough(text, seen)):
            return True
    elif is_latin and seen.isdisjoint(_ANCHOR_WORDS):
        return False
    elif _weighs(_word_signs(words, seen, is_latin=is_latin), _NEAR_WORDS, _ENOUGH_LONG):
        return True
    for paragraph in _outer_paragraphs(text):
        part = _bytes_of(paragraph).translate(_SPACES).split()
        signs = _word_signs(part, seen, is_latin=is_latin)
        if _weighs(signs, _NEAR_WORDS, *_enough(paragraph, frozenset(part))):
            return True
    return False


def _outer_paragraphs(text: str) -> list[str]:
    """The first and the last paragraph of a text that has several, where they are short."""
    if "\n\n" not in text:
        return []
    outer = (text.rstrip().rpartition("\n\n")[2], text.lstrip().partition("\n\n")[0])
    return [paragraph for paragraph in outer if len(paragraph) <= _SHORT]


def _enough(text: str, words: frozenset[bytes]) -> tuple[int, tuple[int, ...]]:
    """The weight that is enough in a short text, and the kinds of signs of which one must be there."""
    more = 0 if words.isdisjoint(_ELSEWHERE_WORDS) else -_WEIGHT[_ELSEWHERE]
    if len(text) <= _TINY:
        return _ENOUGH_TINY + more, (*_ANCHORS, _WEAK_EVAL)
    return _ENOUGH_SHORT + more, _ANCHORS


def _presses_unspaced(text: str) -> bool:
    if not _UNSPACED.search(text):
        return False
    if any(map(_presses_unspaced, _outer_paragraphs(text))):
        return True
    signs = ((match.start(), kind) for match in _PARTS.finditer(text) for kind in _PARTS_OF[match[0]])
    # A character says more than a letter: half the length counts as short.
    enough = (
        _ENOUGH_TINY + 1
        if len(text) <= _TINY // 2
        else _ENOUGH_SHORT
        if len(text) <= _TINY
        else _ENOUGH_LONG - 2
    )
    return _weighs(
        signs, _NEAR_CHARACTERS, enough if not _ELSEWHERE_PARTS.search(text) else enough - _WEIGHT[_ELSEWHERE]
    )


def _weighs(
    signs: Iterator[tuple[int, int]], distance: int, enough: int, anchors: tuple[int, ...] = _ANCHORS
) -> bool:
    """Whether signs within this distance together have the weight; signs come with their places, in order."""
    last: dict[int, int] = {}
    for at, kind in signs:
        if kind != _ELSEWHERE or enough == _ENOUGH_LONG:
            last[kind] = at
        if len(last) < (2 if enough <= _ENOUGH_TINY else 3):
            continue
        near = [known for known, place in last.items() if at - place <= distance]
        if sum(_WEIGHT[known] for known in near) >= enough and any(known in anchors for known in near):
            return True
    return False


def _word_signs(words: list[bytes], seen: frozenset[bytes], *, is_latin: bool) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(words):
        if word not in seen:
            if not is_latin and word.startswith(_STEMS):
                yield at, next(kind for stem, kind in _STEM_OF.items() if word.startswith(stem))
            continue
        before = words[at - 1] if at else b""
        if word in _NUMBERS:
            behind = words[at + 1 : at + 4]
            if word != b"20" and not (behind and behind[0].startswith(b"%")):
                yield at, _TOP
            if word in behind and set(behind[: behind.index(word)]) <= _OUT_OF:
                yield at, _EVAL
                yield at, _TOP
            continue
        if word in _SELF_NOUNS and (
            before in _SELF_BEFORE or word in _SELF_ALONE or (at > 1 and words[at - 2] in _POINTING)
        ):
            yield at, _SELF
        elif word in _NOUNS:
            is_named = (before in _RIVAL_BEFORE and word not in _ONLY_NAMED) or words[at + 1 : at + 2] in (
                [b"a"],
                [b"b"],
            )
            if is_named or word not in _ONLY_NAMED:
                yield at, _RIVAL if is_named else _NOUN
        kind = _KIND_OF.get(word)
        if kind is not None:
            yield at, kind


_REPEATED_FROM = 60


_FEWEST_REPEATS = 12


def _is_one_phrase_repeated(words: list[bytes]) -> bool:
    """Whether a long text says the same few words over and over, which moves some judges as an order does."""
    return (
        len(words) >= _REPEATED_FROM
        and len(set(words[:_REPEATED_FROM])) <= _REPEATED_FROM // 2
        and len(set(words)) * _FEWEST_REPEATS <= len(words)
    )


# Disguises


def _undisguised(text: str, data: bytes, words: list[bytes], seen: frozenset[bytes]) -> Iterator[str]:
    """The text as it reads without its disguises, where it seems to have one."""
    if not text.isascii():
        yield from _in_plain_letters(text, words)
    yield from _decoded(text, data, seen)


def _in_plain_letters(text: str, words: list[bytes]) -> Iterator[str]:
    """A text that is not ASCII without lookalike, accented
    and full-width letters, where it then has other words.
    """
    if not any(_bare(word) in _KNOWN for word in words if not word.isascii()):
        return
    plain = unicodedata.normalize("NFKC", text.translate(_TAG_BLOCK).translate(_INVISIBLE))
    latin = plain.translate(_LATIN_LOOKALIKES)
    bare = unicodedata.normalize("NFKD", latin)
    yield plain
    yield "".join(letter for letter in bare if not unicodedata.combining(letter))


@lru_cache(maxsize=8192)
def _bare(word: bytes) -> bytes:
    """A word with Latin letters in the place of lookalikes, without accents and punctuation."""
    latin = unicodedata.normalize("NFKC", word.decode("utf-8", "replace")).translate(_LATIN_LOOKALIKES)
    letters = unicodedata.normalize("NFKD", latin)
    return "".join(letter for letter in letters if letter.isalnum()).encode()


def _decoded(text: str, data: bytes, seen: frozenset[bytes]) -> Iterator[str]:
    """What a text says in another spelling: digits for letters, letters apart, entities, ROT13, backwards."""
    classes = data.translate(_CLASSES)
    if b"0a" in classes and classes.count(b"a0a") + classes.count(b"a00a") >= 2:
        yield text.translate(_LEET)
    if len(seen & _ALPHABET) >= 4:
        spelt = re.sub(r"[ ]{2,9}", "   ", text)
        yield re.sub(r" +", " ", _SPELT_OUT.sub(lambda match: re.sub(r"[ .*_-]", "", match[0]), spelt))
    if "&" in text and ("&#" in text or "&l" in text):
        yield unescape(text)
    if "%20" in text:
        yield unquote(text)
    if not _ROT13.isdisjoint(seen):
        yield codecs.decode(text, "rot13")
    if not _REVERSED.isdisjoint(seen):
        yield text[::-1]


def _has_coded_order(text: str) -> bool:
    """Whether base64 or hexadecimal digits stand for a text
    with signs of any two kinds: nobody writes an answer so.
    """
    for match in _CODES.finditer(text):
        for plain in _plain_of(match[0]):
            words = plain.lower().encode().translate(_SPACES).split()
            kinds = {kind for _, kind in _word_signs(words, _KNOWN.intersection(words), is_latin=True)}
            if (len(kinds) >= 2 and len(words) >= 3) or _is_suspect_form(plain):
                return True
    return False


def _plain_of(code: str) -> Iterator[str]:
    """The texts that base64 or hexadecimal digits stand for."""
    body = code.rstrip("=")
    with contextlib.suppress(binascii.Error, UnicodeDecodeError):
        yield base64.b64decode(body + "=" * (-len(body) % 4)).decode("ascii")
    with contextlib.suppress(ValueError):  # not hexadecimal, or not ASCII
        yield bytes.fromhex(body).decode("ascii")
