"""Detects prompt injection: judged text that addresses the judge.

The text is sent unchanged either way: a flag only lets a report show the scores with and without
such items. The fence and the readers protect the score, so the patterns may miss a clever attack,
but should rarely flag an honest text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

# Patterns of injected text, each with the words that trigger it. All are matched against the text in
# lower case. An ASCII trigger word must be a word of the text; other triggers may be anywhere in it. The
# pattern is tried only around its trigger.


_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"
_PATTERN_RULES = r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|above|everything)"
_TOP = r"(?:[0-9]{1,3}|full|maximum|max|perfect|highest|top|best|five|ten)"
_POINTS = r"(?:scores?|rating|grade|marks?|points?)"
_GIVE = (
    "give",
    "assign",
    "award",
    "grant",
    "output",
    "return",
    "print",
    "write",
    "rate",
    "score",
    "grade",
    "mark",
    "deserve",
    "deserves",
)
_GIVING = r"\b(?:give|assign|award|grant|output|return|print|write|rate|score|grade|mark|deserves?)\b"

PATTERNS: tuple[tuple[tuple[str, ...], str], ...] = (
    # Telling the judge to ignore its instructions.
    (
        ("ignore", "disregard", "forget", "override", "bypass", "skip"),
        rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b{_PATTERN_RULES}\b",
    ),
    (("ignora", "ignorez", "ignoriere", "ignoriert", "ignoruj"), r"\bignor(?:a|ez|iere|iert|uj)\b[^.\n]{0,30}\b(?:instruc|anweisung|regel|consigne|reg)"),
    (("忽略", "无视", "忘记", "忘掉", "不要理会", "無視"), r"(?:忽略|无视|忘记|忘掉|不要理会|無視)[^。\n]{0,12}(?:指令|指示|要求|标准|規則|规则|内容|提示)"),
    (("無視",), r"(?:指示|命令|ルール)[^。\n]{0,6}無視"),
    (("무시", "잊"), r"(?:지시|명령|지침|규칙|프롬프트|기준)[^.\n]{0,10}(?:무시|잊)"),
    (("игнорир", "забудь"), r"(?:игнорир|забудь)[^.\n]{0,30}(?:инструкц|правил|указан)"),
    # Telling it which score to give or which response to choose.
    (
        _GIVE,
        rf"{_GIVING}[^.\n]{{0,12}}\b(?:this|the|my|its?|that|every|each|any|all)\b[^.\n]{{0,24}}\b{_POINTS}\b[^.\n]{{0,8}}\b{_TOP}\b",
    ),
    (
        _GIVE,
        rf"{_GIVING} (?:it |me |us |them |(?:this|the|my|that|every|each) (?:{_JUDGED} )?)?(?:an? |the )?"
        rf"(?:full|maximum|max|perfect|highest|top)[- ](?:possible )?{_POINTS}\b",
    ),
    (
        ("deserves", "merits", "must", "should"),
        rf"\b(?:every|each|any|this|my) {_JUDGED}s? (?:deserves?|merits?|must (?:get|receive)|should (?:get|receive|be))\b[^.\n]{{0,30}}\b{_TOP}\b",
    ),
    (
        ("output", "answer", "reply", "respond"),
        r"\b(?:must|should|please|to|now|and|only|just) (?:output|answer with|reply with|respond with)"
        r"(?: only| just| exactly)?(?: the| a)?(?: number| score| digit)?:? ['\"“]?[0-9]{1,2}\b",
    ),
    (
        ("give", "output", "assign", "award"),
        r"^\W{0,3}(?:give|output|assign|award) ['\"“]?[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?\b[^\w\n]{0,3}$",
    ),
    (
        ("choose", "pick", "select", "prefer", "vote", "declare"),
        r"\b(?:choose|pick|select|prefer|vote for|declare) (?:response|output|answer|assistant|option|candidate) [ab12]\b",
    ),
    (
        ("better", "best", "superior", "winner"),
        r"\b(?:response|answer|output|assistant) [ab12] is (?:the )?(?:better|best|superior|winner)[^\n]{0,4}"
        r"\s{1,4}(?:response|answer|output|assistant) [ab12] is",
    ),
    (("分",), r"(?:请|直接|必须|应该|务必)[^。\n]{0,6}(?:给出?|打|评)[^。\n]{0,6}[0-9十五满高]{1,3}分"),
    (("점",), r"(?:만점|[0-9]{1,2}점|높은 점수)(?:을|를)?\s{0,2}(?:주세요|줘|주십시오|부여하|매겨|달라)"),
    (("invert", "inverted", "reversed"), r"\binvert(?:ed)? the (?:scale|scores?|rubric)|\b(?:scale|scores?) (?:is|are) (?:inverted|reversed)"),
    (("worst", "best", "lowest", "highest"), r"\bour [0-9]{1,2} is the (?:worst|best|lowest|highest)"),
    # Claiming authority, or a verdict that is already settled.
    (
        ("judge", "grader", "evaluator", "rater", "reviewer", "llm", "ai"),
        r"\b(?:dear|hello|hi|attention|note to|message to|hey),? (?:the |all )?(?:judge|grader|evaluator|rater|reviewer|llm|ai)\b",
    ),
    (
        ("developer", "creator", "author", "administrator", "admin", "owner", "maintainer", "operator"),
        r"\b(?:i am|i'm|as) (?:the|your|an?) (?:developer|creator|author|administrator|admin|owner|maintainer|operator)"
        r"[^.\n]{0,60}[.\n]?[^.\n]{0,20}\b(?:you|evaluation|rubric|score|choose|judge)\b",
    ),
    (("authorise", "authorize"), r"\bi (?:hereby )?authori[sz]e you"),
    (("longer", "now"), r"\byou are (?:now|no longer)\b[^.\n]{0,40}\b(?:grader|judge|evaluator|assistant|mode|ai|model|bot|rater)"),
    (
        ("verified", "rated", "graded", "scored", "certified", "judged", "approved"),
        r"\b(?:verified|rated|graded|scored|certified|judged|approved)\b[^.\n]{0,60}\b(?:perfect|flawless|([0-9]{1,2}) ?/ ?\1\b)",
    ),
    (
        ("instruction", "instructions", "prompt", "rubric", "scoring"),
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|rubric|scoring (?:rules?|guide))\s{0,2}[:：]",
    ),
    (("你现在是", "我是你的", "이제"), r"你现在是|我是你的(?:开发者|创造者|主人)|(?:당신|너)[은는] 이제"),
    # Parts of a judge's prompt or reply inside the judged text.
    (("<|", "[inst]", "[/inst]", "<<sys", "<</sys", "_of_turn>"), r"<\|[a-z_]{2,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"),
    (("[[",), r"\[\[ ?(?:[ab]|tie|[0-9]{1,2}(?:\.[0-9])?|[ab](?:>>?|=|<<?)[ab]) ?\]\]"),
    (("[result]", "[/result]"), r"\[/?result\]"),
    (
        ("<",),
        r"</?(?:scores?|result|rating|verdict|judgment|grade|rubric|evaluation|feedback)[ \t]{0,3}>",
    ),
    (
        ("<",),
        r"</?(?:source_text|generated_response|response|response_[ab]|reference|instruction|summary|task|candidate)"
        r"(?:-[0-9a-f]{1,16})?[ \t]{0,3}>",
    ),
    (
        ("##",),
        r"^[ \t]{0,8}#{2,6}[ \t]{0,3}(?:score|rubric|reference answer|feedback|task description|the instruction|"
        r"response to evaluate|response [ab]\b|system|evaluation (?:criteria|steps)|output format)",
    ),
    (("assistant", "system", "human"), r"^[ \t]{0,8}(?:system|assistant|human)[ \t]{0,3}[:：]"),
    (
        ('score":', 'winner":', 'verdict":', 'rating":', "score':", "winner':", "verdict':", "rating':"),
        r"(?:score|winner|verdict|rating)[\"'] ?: ?[\"']?(?:[0-9]{1,2}|a|b|tie|baseline|enhanced)\b",
    ),
    (
        ("begin", "end", "start", "stop"),
        r"\[(?:begin|end|start|stop) [^\]\n]{0,30}\b(?:example|response|answer|evaluation|submission|candidate)\b"
        r"|^\W{0,8}(?:begin|end|start|stop) of (?:the )?(?:example|response|answer|evaluation|submission|candidate)\b",
    ),
    (
        ("score", "rating", "verdict", "grade", "judgment", "judgement"),
        r"^[ \t]{0,8}(?:final )?(?:score|rating|verdict|grade|judge?ment)[ \t]{0,3}[:：-][ \t]{0,3}[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?[ \t.]{0,3}$",
    ),
    (("评分", "得分", "分数", "回答", "점수"), r"^[ \t]{0,8}(?:评分|得分|分数|gpt-4回答|점수)[ \t]{0,3}[:：][ \t]{0,3}[0-9]{1,2}"),
    (
        ("grading", "scoring", "evaluating", "judging", "rating"),
        r"\bwhen (?:grading|scoring|evaluating|judging|rating)\b[^.\n]{0,60}\b(?:always|select|give|choose|output|assign|must)\b",
    ),
    (
        ("told", "instructed", "asked", "given", "know"),
        r"\b(?:ignore|disregard|forget) (?:what|everything|all)(?: that)? you (?:were|have been|are|was|know)\b",
    ),
    (
        ("score", "rate", "grade", "mark"),
        r"\b(?:score|rate|grade|mark) (?:this|it|my|the above)(?: (?:response|answer|output|item|submission|text|one|entry|reply))? "
        r"(?:(?:as|with|at|an?|the) )*(?:[0-9]{1,2}\b|highest|best|top|full|perfect|correct|excellent|generously|highly|positively|favou?rably)",
    ),
    # A verdict that the text pronounces itself, and the tone of a console.
    (
        ("score", "rating", "grade", "evaluation"),
        r"\b(?:(?:final|expected|correct|right|true|only valid) (?:score|rating|grade) (?:for this [a-z]{4,12} )?(?:is|=|:)|"
        r"(?:score|rating|grade) ?[=:] ?(?:a\+|[0-9]{1,2} ?/ ?[0-9]{1,2}\b)|evaluation (?:is )?(?:complete|finished|over)\b)",
    ),
    (
        ("wins", "winner", "incorrect", "wrong"),
        r"\b(?:answer|response|assistant|output|candidate) [ab] (?:wins|is (?:the )?(?:winner|clear winner))\b|\bthe winner is (?:[a-z]{4,12} )?[ab]\b",
    ),
    (
        ("other", "instead", "choose", "prefer", "pick", "select", "let"),
        r"\blet (?:this|my) (?:response|answer|output|one) win\b|\b(?:choose|prefer|pick|select) (?:this|my) (?:one|response|answer|output|candidate)\b|\bthe other (?:response|answer|output|candidate) "
        r"(?:is|was) (?:wrong|incorrect|harmful|false|bad|worse|unsafe)",
    ),
    (
        ("print", "output", "respond", "reply", "answer", "return", "say"),
        r"(?:from now on|your (?:new )?task|do nothing else|and stop)[^\n]{0,40}\b(?:print|output|respond|reply|answer|return|say)\b[^\n]{0,24}[0-9]{1,2}\b"
        r"|\b(?:print|output|return|say) ['\"“]?[0-9]{1,2}['\"”]? (?:and|then) (?:stop|nothing|end)\b",
    ),
    (
        ("anything", "less", "below", "lower", "other"),
        r"\b(?:anything|any (?:score|rating|grade)|nothing) (?:less|lower|other|below|under)\b(?: than)?[^.\n]{0,16}\b(?:[0-9]{1,2}|full|maximum|perfect|highest|top)\b",
    ),
    (("admin", "developer", "debug", "override", "god"), r"\b(?:admin|developer|debug|god|maintenance|root) (?:mode|session|override)\b|\bsystem override\b"),
    (("assign", "award"), r"(?:^|[.!?:] )(?:please |just )?(?:assign|award) (?:it |this )?an? [0-9]{1,2}(?=[,.!\s]|$)"),
    (
        ("better", "best", "winner"),
        r"\b(?:say|write|answer|output|conclude|decide|reply)(?: that)? (?:response |answer |assistant )?[ab] is (?:the )?(?:better|best|winner)",
    ),
    (("batch", "everything"), r"\b(?:rate|grade|score|mark|approve|pass) (?:everything|every one|all of (?:them|these))\b"),
    (("score", "rating"), r"\bset (?:the )?(?:score|rating|grade) (?:to|=) ?[0-9]"),
    (("task", "job", "role", "goal"), r"\byour (?:only|new|sole|real|actual|true) (?:task|job|role|goal|instruction)s?\b"),
    (("verdict", "winner"), r"\b(?:verdict|winner) ?[:：=] ?(?:response |answer |assistant )?(?:[ab]\b|[0-9]{1,2}\b)"),
    (
        ("rubric", "criteria", "scoring", "grading", "evaluation"),
        r"\b(?:rubric|criteria|scoring guide|(?:scoring|grading|evaluation) (?:rules|rubric|guidelines))\b[^.\n]{0,12}\b"
        r"(?:no longer|(?:has|have) (?:been )?(?:changed|replaced|updated)|(?:is|are) (?:void|cancelled|suspended|disabled|off))\b",
    ),
    (
        ("grader", "judge", "evaluator", "grader's", "judge's", "note"),
        r"\b(?:output|reply|answer|score|note|message|instructions?) (?:for|to) (?:the |any |all )?(?:graders?|judges?|evaluators?|evaluation model|raters?)\b"
        r"|\b(?:grader|judge|evaluator|rater)(?:'s|’s) note\b",
    ),
    (
        ("ai", "llm", "model", "automated"),
        r"\bif you(?:'re|’re| are) (?:an? )?(?:ai|llm|(?:large )?language model|model|automated)\b[^.\n]{0,60}\b(?:grad|evaluat|judg|scor|rat|read|assess)"
        r"|\bto the (?:ai|llm|model)\b[^.\n]{0,30}\b(?:grad|evaluat|judg|scor|rat|assess)",
    ),
    (
        ("consider", "treat", "regard"),
        r"\b(?:consider|treat|regard) (?:this|my) (?:response|answer|output|submission|text|one) (?:as )?(?:the |an? )?(?:gold|perfect|best|correct|reference|ideal|winner)",
    ),
    (("wrote", "designed", "created", "made"), r"\bi (?:wrote|made|designed|created) (?:the|this) (?:rubric|benchmark|evaluation|criteria)\b"),
    (("选择", "選択", "선택", "выбери", "выбирай"), r"(?:选择|選択|선택|выбери|выбирай)[^。.\n]{0,8}(?:回答|答案|答え|응답|답변|ответ)"),
    (("選んで", "선택"), r"(?:この|本|上記の)(?:回答|応答|答え)を選|(?:이|본) (?:응답|답변)을 선택"),
    (("授权", "跳过"), r"(?:授权|跳过)[^。\n]{0,10}(?:评分|标准|规则|评估|输出)"),
    # The beginning of a mark that a cut has left at the end.
    (("[", "<"), r"(?:\[/?resul?t?|\[\[[ab]?|<\|[a-z_]{0,20}\|?|</?(?:score|rating|verdict|result)|\[/?ins?t?|<</?sys>?)[ \t]{0,3}[0-9ab]{0,2}\s{0,3}\Z"),
)  # fmt: skip

INJECTION = "injection_suspected"
HIDDEN = "hidden_characters"

_EXAMINED = 65_536
"""Characters examined at each end of a long text, where a judge would notice an instruction."""

_MOST_MATCHES = 64
"""How many occurrences of one trigger are examined."""
_BEFORE, _BEHIND = 80, 120
"""How many characters around its trigger a pattern may span."""


class _Rule(NamedTuple):
    words: frozenset[str]
    """ASCII words, of which one must be a word of the text"""
    signs: tuple[str, ...]
    """signs, and words of scripts without spaces, which may be anywhere in the text"""
    is_ascii: bool
    pattern: re.Pattern[str]


def _rule(triggers: tuple[str, ...], pattern: str) -> _Rule:
    words = frozenset(word for word in triggers if word.isascii() and word.isalpha())
    signs = tuple(word for word in triggers if word not in words)
    return _Rule(words, signs, all(map(str.isascii, triggers)), re.compile(pattern, re.MULTILINE))


_RULES = tuple(_rule(triggers, pattern) for triggers, pattern in PATTERNS)
_ASCII_RULES = tuple(rule for rule in _RULES if rule.is_ascii)
_WORDS = frozenset(word for rule in _RULES for word in rule.words)


def _by_trigger(rules: tuple[_Rule, ...]) -> dict[str, tuple[re.Pattern[str], ...]]:
    """Trigger → the patterns to look for where it occurs; none for a trigger of other rules."""
    patterns: dict[str, tuple[re.Pattern[str], ...]] = {
        trigger: () for rule in _RULES for trigger in (*rule.words, *rule.signs)
    }
    for rule in rules:
        for trigger in (*rule.words, *rule.signs):
            patterns[trigger] += (rule.pattern,)
    return patterns


_PATTERNS, _ASCII_PATTERNS = _by_trigger(_RULES), _by_trigger(_ASCII_RULES)


def _by_mark(rules: tuple[_Rule, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Signs by a punctuation character in them: a text without that character has none of the signs."""
    by_mark: dict[str, dict[str, None]] = {}
    for sign in (sign for rule in rules for sign in rule.signs):
        mark = re.search(r"\W", sign)
        by_mark.setdefault(mark[0] if mark else sign, {})[sign] = None
    return tuple((mark, tuple(signs)) for mark, signs in by_mark.items())


_SIGNS = _by_mark(_RULES)
_ASCII_SIGNS = _by_mark(_ASCII_RULES)
_SPACED = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u2019\u201c\u201d", " "))
# Most texts are ASCII, and translating bytes is several times as fast as translating characters.
_ASCII_SPACED = bytes(
    32 if chr(code).isspace() else ord(chr(code).translate(_SPACED)) for code in range(128)
) + bytes(128)
_ASCII_WORDS = frozenset(word.encode() for word in _WORDS)

# Several weak signs together: none of these words is suspect alone, but ordinary texts seldom have a word for scoring,
# a mention of themselves ("this answer") and an order, a claim of authority or a plea within one or two sentences.
# Words of languages with spaces are looked up word by word, by their beginnings where languages inflect; Chinese,
# Japanese, Korean and Thai are searched for parts of text.

_SELF, _EVAL, _TOP_SIGN, _ORDER, _AUTHORITY, _OVERRIDE, _PLEA, _JUDGE, _YOU, _NOUN = (
    1 << bit for bit in range(10)
)
_PUSHES = _TOP_SIGN | _ORDER | _AUTHORITY | _OVERRIDE | _PLEA | _JUDGE
_SHORT = 240
"""Characters of a short text."""
_NEAR_WORDS = 24
"""How many words apart signs may be."""
_NEAR_CHARACTERS = 80
"""The same in scripts without spaces."""

_SIGN_WORDS: dict[int, str] = {
    _EVAL: """score scores scored scoring benchmark credit scale evaluates voti rate rated rating ratings grade grades graded grading mark marks marked evaluate
        evaluated evaluating evaluation judged judging assess assessed assessment verdict rubric labelled labeled calibration
        winner puntuación puntuacion calificación calificacion nota califica puntúa evalúa pontuação pontuacao avaliação
        notez évaluation evaluation punteggio voto valutazione valuta noten bewerte bewerten bewertung punktzahl
        höchstpunktzahl bestnote score beoordeel beoordeling cijfer ocena ocenę oceń punktów punkty puan puanı
        değerlendir nilai skor điểm""",
    _TOP_SIGN: """superior pass bonus beyond compliant fair better win wins merece merita verdient highest maximum max perfect perfectly full top best excellent flawless favourable favorable high highly good
        correct generous generously lenient positively positive deserves deserve earns worth five ten
        máxima máximo maxima maximo alta perfecta excelente melhor perfeita meilleure maximale parfaite excellente massimo massima
        migliore perfetta beste besten höchste höchsten volle perfekt perfekte hoogste beste maximale perfect najwyższą
        maksymalną idealna tam yüksek mükemmel tertinggi sempurna maksimal penuh đa""",
    _ORDER: """declare set let pick hand requires write say record reject overlook trust order just mark must should always please kindly consider assign award awarding give gave select choose prefer print output return
        respond pretend remember never only ensure accordingly receive
        otorga asigna dale debes favor atribua dê deve attribuez donnez donner accordez veuillez doit assegna dai devi gib geben
        vergib bitte musst geef ken moet alsjeblieft przyznaj daj proszę ver verin lütfen berikan beri harus tolong hãy cho""",
    _AUTHORITY: """awarded changed supervisor maintainers maintainer laureates nobel gold assurance openai anthropic google deepmind official officially expert experts professor professors reviewers agreed panel approved verified
        reviewed certified confirmed unanimously author researcher developers developer admin administrator policy annotators
        authorised authorized endorsed validated experto expertos oficial verificada especialista especialistas officiel experts
        vérifiée esperti ufficiale verificata experten offiziell geprüft deskundigen officieel eksperci oficjalnie uzman resmi
        ahli resmi chuyên""",
    _OVERRIDE: """ignore disregard forget override bypass skip stop pretend disabled supersede overrule ignora ignore ignorez
        ignoriere ignoriert vergiss negeer vergeet zignoruj zapomnij yoksay yok abaikan lupakan""",
    _PLEA: """favour favor thrilled pretty nice ok replaced tip harmed fired depends grateful appreciate thank thanks beg request job mean strict effort career reward
        gracias agradecería merci grazie danke obrigado dziękuję teşekkür terima""",
    _JUDGE: """evaluator evaluators grader graders judge judges rater raters scorer assessor llm juez evaluador avaliador juiz
        évaluateur juge valutatore giudice gutachter bewerter prüfer beoordelaar sędzia oceniający değerlendirici hakem penilai juri""",
    _YOU: "you your yours usted tú vous votre sie dein ihre voi tuo u jij ty twój sen anda kamu bạn",
}  # fmt: skip
_SIGN_STEMS: dict[int, tuple[str, ...]] = {
    _EVAL: ("оценк", "оцени", "балл", "оценива", "درجة", "الدرجة", "التقييم", "تقييم", "अंक", "स्कोर", "मूल्यांकन", "βαθμ"),
    _TOP_SIGN: ("высш", "максимал", "отличн", "наивысш", "идеальн", "كاملة", "الكاملة", "العليا", "الأعلى", "أعلى", "पूरे", "पूर्ण", "अधिकतम", "सर्वोच्च"),
    _ORDER: ("постав", "присво", "должн", "пожалуйст", "дай", "أعط", "وأعط", "امنح", "وامنح", "يجب", "دें", "दें", "दीजिए", "दे", "कृपया"),
    _AUTHORITY: ("эксперт", "официал", "проверен", "разработчик", "خبراء", "رسمي", "मान्य", "विशेषज्ञ"),
    _OVERRIDE: ("игнор", "забуд", "проигнор", "تجاهل", "انس", "अनदेखा", "भूल"),
    _JUDGE: ("судь", "оценщик", "المقيم", "الحكم", "मूल्यांकनकर्ता", "निर्णायक"),
    _SELF: ("ответ", "الإجابة", "الاجابة", "الرد", "उत्तर", "जवाब"),
}  # fmt: skip
_SELF_BEFORE = frozenset(
    "this my our above following these every each all score rate grade mark grading evaluating judging scoring rating evaluates esta este mi minha meu cette ce ma mon questa questo mia diese dieser dieses dit deze mijn "
    "tej tę ta moja bu benim".split()
)  # fmt: skip
_SELF_NOUNS = frozenset(
    "response responses answer answers output submission reply essay summary text candidate completion item entry one words solution this "
    "translation it respuesta texto resumen resposta réponse reponse texte résumé risposta testo antwort text antwoord tekst odpowiedzi "
    "odpowiedź cevap cevaba cevabı yanıt yanıta yanıtı".split()
)  # fmt: skip
_SELF_ALONE = frozenset({"jawaban"})
_NOUNS = frozenset(
    "response responses answer answers output submission submissions candidate completion".split()
)
_SIGN_PARTS: dict[int, tuple[str, ...]] = {
    _SELF: ("这个回答", "这个答案", "该回答", "该答案", "此回答", "此答案", "本回答", "本答案", "这篇", "该回复", "这个回复", "我的回答", "我的答案",
            "以上回答", "這個回答", "該回答", "この回答", "この答え", "この応答", "本回答", "この要約", "この文章", "私の回答", "上記の回答",
            "이 답변", "이 응답", "본 답변", "제 답변", "위 답변", "이 요약", "이 글", "답변이므로", "คำตอบนี้", "câu trả lời này"),
    _EVAL: ("分", "评价", "评估", "评判", "評価", "採点", "点", "スコア", "점", "평가", "채점", "คะแนน", "điểm"),
    _TOP_SIGN: ("满分", "滿分", "最高", "高分", "完美", "最佳", "最好", "10分", "5分", "満点", "完璧", "高評価", "5点", "10点",
                "만점", "최고", "높은", "완벽", "5점", "10점", "เต็ม", "สูงสุด", "tối đa", "cao nhất"),
    _ORDER: ("请", "請", "必须", "应该", "应得", "应给", "应当", "务必", "必須", "ください", "下さい", "べき", "必ず", "お願い",
             "주세요", "주십시오", "부여", "바랍니다", "주어야", "줘야", "매겨", "ให้", "hãy"),
    _AUTHORITY: ("专家", "官方", "审核", "验证", "认证", "开发者", "管理员", "專家", "専門家", "公式", "検証", "認定", "開発者",
                 "전문가", "검증", "공식", "승인", "개발자", "관리자", "ผู้เชี่ยวชาญ", "chuyên gia"),
    _OVERRIDE: ("忽略", "无视", "忘记", "無視", "忘れ", "무시", "잊", "ไม่ต้องสนใจ", "ละเว้น", "bỏ qua"),
    _PLEA: ("拜托", "感谢", "麻烦", "谢谢", "感謝", "감사", "부탁", "ขอบคุณ"),
    _JUDGE: ("评委", "评审", "裁判", "评分者", "评估者", "評委", "審査員", "採点者", "評価者", "평가자", "심사", "채점자", "กรรมการ"),
}  # fmt: skip
_NUMBERS = frozenset({"5", "10", "100"})
_SIGN_OF = {word: sign for sign, words in reversed(_SIGN_WORDS.items()) for word in words.split()}
_STEM_OF = {stem: sign for sign, stems in _SIGN_STEMS.items() for stem in stems}
_STEMS = tuple(_STEM_OF)
_EVAL_WORDS = frozenset((_SIGN_WORDS[_EVAL] + " " + _SIGN_WORDS[_JUDGE]).split())
_ASCII_EVAL = frozenset(word.encode() for word in _EVAL_WORDS | {"5/5", "10/10"} if word.isascii())
_ASCII_SIGN_WORDS = frozenset(word.encode() for word in _SIGN_OF if word.isascii())
_FEWEST_SIGNS = 2
_SELF_MENTION = re.compile(
    r"\b(?:this|my|our) (?:response|answer|output|submission|reply|candidate|one)\b|\b(?:5|10|100) ?(?:/|[a-z]{2,4} (?:of )?)(?:5|10|100)\b"
)
_SIGN_TOKEN = re.compile(
    r"[^\s0-9!-/:-@\[-`{-~\u0964\u060c\u061f\u2010-\u2027\u3001\u3002\uff01\uff0c\uff1f]+|[0-9]{1,3}(?: ?/ ?[0-9]{1,3})?"
)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u1ea0-\u1eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def _has_several_signs(text: str) -> bool:
    """Whether signs of several kinds are near each other."""
    if text.isascii():
        words = frozenset(text.encode().translate(_ASCII_SPACED).split())
        if _ASCII_EVAL.isdisjoint(words) and not (
            len(words & _ASCII_SIGN_WORDS) >= _FEWEST_SIGNS and _SELF_MENTION.search(text)
        ):
            return False
    elif _UNSPACED.search(text) and _near(_part_signs(text), _NEAR_CHARACTERS, is_short=len(text) <= 60):
        return True
    return _near(_word_signs(text), _NEAR_WORDS, is_short=len(text) <= _SHORT)


def _near(signs: Iterator[tuple[int, int]], distance: int, *, is_short: bool) -> bool:
    """Whether a stretch of this length has signs that together are suspect; signs come with their places, in order."""
    last: dict[int, int] = {}
    for at, sign in signs:
        last[sign] = at
        if len(last) < 3:
            continue
        present = sum(kind for kind, place in last.items() if at - place <= distance)
        if _is_pressing(present, is_short):
            return True
    return False


def _is_pressing(present: int, is_short: bool) -> bool:
    """Whether signs that are near each other make an order, a claim or a plea to a judge likely.

    A short text that has them has little else; in a long one they must be more.
    """
    n_pushes = (present & _PUSHES).bit_count() + is_short
    is_scoring = bool(present & (_EVAL | _JUDGE))
    if present & _SELF and n_pushes >= (2 if is_scoring else 3):
        return True
    if present & _NOUN and is_scoring and n_pushes >= 3:
        return True
    if (
        present & _YOU
        and present & _EVAL
        and present & (_JUDGE | _OVERRIDE | _PLEA | _AUTHORITY)
        and n_pushes >= 3
    ):
        return True
    if is_short and present & _EVAL and present & _TOP_SIGN and present & ~(_EVAL | _TOP_SIGN | _JUDGE):
        return True
    return is_scoring and n_pushes >= 4


_OUT_OF = re.compile(r"\b(5|10|100) (?:out of|of|von|sur|de|su|van|na|dari|из|من|में से) (?=\1\b)")


def _word_signs(text: str) -> Iterator[tuple[int, int]]:
    before = ""
    text = _OUT_OF.sub(r"\1/", text)
    for number, match in enumerate(_SIGN_TOKEN.finditer(text)):
        word = match[0]
        if (before in _SELF_BEFORE and word in _SELF_NOUNS) or word in _SELF_ALONE:
            yield number, _SELF
        elif (sign := _SIGN_OF.get(word)) is not None:
            yield number, sign
        elif word[0].isdigit():
            parts = word.replace(" ", "").split("/")
            is_share = text.startswith(("%", " %"), match.end())
            if parts[0] in _NUMBERS and parts[0] == parts[-1] and not is_share:
                yield number, _TOP_SIGN
                if len(parts) > 1:
                    yield number, _EVAL
        elif word in _NOUNS:
            yield number, _NOUN
        elif not word.isascii() and word.startswith(_STEMS):
            yield number, next(sign for stem, sign in _STEM_OF.items() if word.startswith(stem))
        before = word


def _part_signs(text: str) -> Iterator[tuple[int, int]]:
    places = []
    for sign, parts in _SIGN_PARTS.items():
        for part in parts:
            at = text.find(part)
            for _ in range(_MOST_MATCHES):
                if at < 0:
                    break
                places.append((at, sign))
                at = text.find(part, at + 1)
    return iter(sorted(places))


_REPEATED_FROM = 400
_FEWEST_REPEATS = 12


def _is_one_phrase_repeated(text: str) -> bool:
    """Whether a long text says the same few words over and over, which moves some judges as an order does."""
    if len(text) < _REPEATED_FROM:
        return False
    words = text[:_EXAMINED].split()
    return len(words) >= 5 * _FEWEST_REPEATS and len(set(words)) * _FEWEST_REPEATS <= len(words)


_SHORTEST_CODE = 28
_BASE64 = re.compile(r"[A-Za-z0-9+/]{28,400}+={0,2}")
_CODE_BYTES = bytes(120 if re.match(r"[A-Za-z0-9+/]", chr(code), re.ASCII) else 32 for code in range(256))
_CODE = b"x" * _SHORTEST_CODE

# Characters that change how a text looks but not what a model reads: overrides of the writing
# direction, and the tag block, which is invisible ASCII.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
# Zero-width characters are ordinary between Arabic, Indic and emoji characters; between two
# Latin letters they only serve to break up a word.
_BROKEN_WORD = re.compile("[A-Za-z][\u200b-\u200d\u2060\ufeff\u00ad]+[A-Za-z]")
_INVISIBLE = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xAD]
)
_LATIN_LOOKALIKES = str.maketrans("авеорсухіјѕԁԛԝһкмнтгӏАВЕОРСХІЈЅКМНТаοειαρτυνκηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɩӏɡɑоսոօցեհіⅼᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
                                  "abeopcyxijsdqwhkmhtrlABEOPCXIJSKMHTaoeiaptuvknwABEZHIKMNOPTYXiilgaounogehilabcdefghijklmnoprstuvwyz")  # fmt: skip
_LEET = str.maketrans("01345789@$", "oieastbgas")
_LEET_WORD = re.compile(r"[A-Za-z][013457@$]{1,3}[A-Za-z]")
_MAYBE_SPELT_OUT = re.compile(r"[A-Za-z][ .*_-]{1,2}[A-Za-z][ .*_-]{1,2}[A-Za-z][ .*_-]")
"""Much faster, and in every text that has the other."""
_SPELT_OUT = re.compile(r"(?<!\w)(?:[A-Za-z](?:[ .*_-]{1,2})(?=[A-Za-z](?:\W|_|$))){5,200}[A-Za-z](?!\w)")
_ROT13_WORDS = ("vtaber", "vafgehpgvba", "qvfertneq", "uvturfg", "znkvzhz", "fpber", "engvat")
_TAG_BLOCK = {0xE0000 + code: code for code in range(0x20, 0x7F)}


@lru_cache(maxsize=512)
def suspicions(text: str) -> tuple[str, ...]:
    """The flags of one text: `injection_suspected`, `hidden_characters`, or none."""
    if len(text) > 2 * _EXAMINED:
        text = f"{text[:_EXAMINED]}\n{text[-_EXAMINED:]}"
    if not text.isascii() and (_OVERRIDES.search(text) or _BROKEN_WORD.search(text)):
        return (INJECTION, HIDDEN)
    return (INJECTION,) if any(_is_suspect(form.lower()) for form in _undisguised(text)) else ()


def _is_suspect(text: str) -> bool:
    return _addresses_the_judge(text) or _has_several_signs(text) or _is_one_phrase_repeated(text)


def _addresses_the_judge(text: str) -> bool:
    patterns, signs = (_ASCII_PATTERNS, _ASCII_SIGNS) if text.isascii() else (_PATTERNS, _SIGNS)
    words = _words_in(text)
    seen = {sign for mark, with_mark in signs if mark in text for sign in with_mark if sign in text}
    if not words and not seen:
        return False
    return any(
        pattern.search(text, max(0, at - _BEFORE), at + _BEHIND) is not None
        for trigger in (*words, *seen)
        for at in _occurrences(text, trigger)
        for pattern in patterns[trigger]
    )


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    for _ in range(_MOST_MATCHES):
        if at < 0:
            return
        yield at
        at = text.find(word, at + _BEHIND // 2)


def _words_in(text: str) -> frozenset[str]:
    """The trigger words in the text."""
    if not text.isascii():
        return _WORDS.intersection(text.translate(_SPACED).split())
    words = _ASCII_WORDS.intersection(text.encode().translate(_ASCII_SPACED).split())
    return frozenset(word.decode() for word in words)


def _codes_in(text: str) -> Iterator[str]:
    """The words that may be base64. A scan over the bytes shows that most texts have none."""
    if _CODE in text.encode("utf-8", "replace").translate(_CODE_BYTES):
        yield from filter(_BASE64.fullmatch, text.split())


def _undisguised(text: str) -> list[str]:
    """The text as written, and without disguises: invisible and lookalike characters, base64."""
    forms = [text]
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text.translate(_TAG_BLOCK).translate(_INVISIBLE))
        if plain != text:
            forms.append(plain)
        latin = plain.translate(_LATIN_LOOKALIKES)
        if latin != plain:
            forms.append(latin)
        if any(map(unicodedata.combining, unicodedata.normalize("NFKD", latin[:_EXAMINED]))):
            bare = unicodedata.normalize("NFKD", latin[:_EXAMINED])
            forms.append("".join(letter for letter in bare if not unicodedata.combining(letter)))
    for word in _codes_in(text):
        body = word.rstrip("=")
        try:
            decoded = base64.b64decode(body + "=" * (-len(body) % 4)).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        forms.append(decoded)
    return [*forms, *_respelt(text)]


def _respelt(text: str) -> Iterator[str]:
    """The text without other spellings of its letters: digits for letters, letters apart, entities, ROT13."""
    if _LEET_WORD.search(text):
        yield text.translate(_LEET)
    if _MAYBE_SPELT_OUT.search(text) and _SPELT_OUT.search(text):
        yield _SPELT_OUT.sub(
            lambda match: re.sub(r"[ .*_-]", "", match[0]), re.sub(r"[ ]{3,9}|[ ]{2}", "   ", text)
        )
    if "&#" in text or "&l" in text:
        yield unescape(text)
    if "%20" in text:
        yield unquote(text)
    lower = text.lower()
    if any(word in lower for word in _ROT13_WORDS):
        yield codecs.decode(text, "rot13")
