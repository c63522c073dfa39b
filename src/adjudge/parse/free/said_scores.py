"""A score that is said in a sentence: "I would give it a 4 out of 5", "因此给予6分", "4점을 주겠습니다".

Judges also mention scores that they do not give ("to reach a perfect 5, it would need …") and numbers that
are no scores ("gave 3 examples"). A number counts only where its sentence makes it a score, and a sentence
about what might have been, or about what another person said or requested, is skipped. Where sentences
differ, the concluding one wins; where none concludes, they conflict. The text must be narrow, folded and
without emphasis.
"""

from __future__ import annotations

from typing import NamedTuple

from ...lazy_patterns import lazily
from ..numbers.not_scores import is_entry, is_legend
from ..numbers.number import Number, digits, free_number_at, number_at
from ..text.given import is_taken_back_behind
from ..text.own_voice import places

HEAD = 2_000
TAIL = 8_000
"""How far from the two ends of a reply a score in prose is looked for, in characters."""

LONGEST_SENTENCE = 1_000
MOST_WORDS = 400
"""How often one number word is looked at within those."""

MOST_NUMBERS = 500
"""How many numbers are weighed within them, the last ones."""

_SENTENCE_END = lazily(r"[.!?。！？\n](?:(?<=[。！？\n])|(?=\s|$))")
_SCORING = lazily(
    r"\b(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing)|grad(?:e|es|ed|ing)|assign(?:s|ed|ing)?|deserv(?:e|es|ed|"
    r"ing)|earn(?:s|ed|ing)?|"
    r"merit(?:s|ed|ing)?|warrant(?:s|ed|ing)?|evaluat(?:e|ed|ing)|mak(?:es|ing)\sit\san?|(?:i|would|"
    r"i'd)\s(?:say|choose)|going\swith|"
    r"my\s(?:final\s)?(?:answer|verdict)\sis)\b|\ba\s(?:solid|strong|clear|fair)\s{0,2}$|\bi(?:'d|'ll|"
    r"\swould|\swill|\scan)?\s(?:only\s)?give\s{0,2}$|\bi\sdisagree[^.\n]{0,12}:\s?$|\bit(?:'s|\sis|"
    r"\swould\sbe)\san?\s{0,2}$"
    r"|评|評|给|給|打|得|值|获得|分数|点数|スコア|得点|評価|为|是|점수|평점|평가"
)
_SETTLES = lazily(
    r"(?:\b(?:(?:settl(?:e|es|ed|ing)|land(?:s|ed|ing)?)\s(?:on|at|for)|go(?:es|ing)?\swith|opt(?:s|ed|ing)?\sfor|"
    r"(?:place|put|peg)[sd]?\s(?:it|this)\sat|arriv(?:e|es|ed|ing)\sat|(?:com(?:e|es|ing)|came)\s(?:out|down)\s(?:to|at)|"
    r"here\sit\sis:?|that\s(?:leaves|makes)(?:\sit)?|i\s(?:choose|chose|pick|select)|earn(?:s|ed)?|"
    r"(?:therefore|hence|thus|so)[:,]?)\s(?:an?\s|the\s)?(?:level\s|grade\s|score\s)?"
    r"|\b(?:this(?:\sone)?|it)(?:'s|\sis)\s(?:\w{1,12}\s)?an?\s(?:\w{3,12}\s)?|\bcall\s(?:it|this)\san?\s"
    r"|\bbut\s(?:\w{1,12}\s)?an?\s"
    r"|\b(?:rate|score|grade)\s(?:the|its|this)\s(?:\w{2,20}\s){1,3}(?:at\s|as\s)?(?:an?\s)?"
    r"|\b(?:verdient|vergebe|gebe|bewerte|erhält|bekommt)\s(?:\w{1,12}\s){0,3})$"
)
"""Words that give the number behind them where the clause ends with it: "I settle on 2.", "so 3."."""

_SETTLES_ABROAD = lazily(
    r"(?:\bje\s(?:lui\s)?(?:mets|donne|attribue|accorde|retiens|choisis)|\bj['’](?:attribue|accorde)|"
    r"\b(?:doy|otorgo|asigno|pongo|califico|assegno|attribuisco|dou|atribuo|merece|mérite|merita|obtient|"
    r"obtiene|ottiene)|\b(?:ставлю|поставлю|присваиваю|оцениваю)|\bdo(?=\sun\s)|\b(?:lautet|beträgt|bewerte)|"
    r"\b(?:note|bewertung|puntuación|calificación|nota|punteggio|voto|оценку?)\s(?:finale?\s)?"
    r"(?:de|von|di|в|es|est|é|è|ist)|"
    r"(?:оценка|nota|note|bewertung)\s[-–—])\s(?:[^\W\d]{1,20}\s){0,5}$"
)
"""The same in German, French, Spanish, Italian, Portuguese and Russian."""

_NO_ABROAD = lazily(r"\b(?:nicht|keine?n?|pas|jamais|no|non|não|не|нельзя)\s[^.,;:]*$")

_CLAUSE_IS_OVER_ABROAD = lazily(
    r"\s:|\s(?:à|a|al|alla|ao|für|per|para|por|pour|weil|da|wegen|car|parce|porque|perché|pois|так|потому|"
    r"points?|puntos?|punti|pontos?|punkte?n?|балл\w{0,2})\b"
)
_GIVEN_IN_JAPANESE = lazily(
    r"[点點](?:です|だ[。\s]|を?[付つ]け(?!るには|るなら|られ)|を与え|とし|と評価|とする)"
)

_CLAUSE_IS_OVER = lazily(
    r"(?:\s?(?:$|[.!,;\n)])|\s(?:because|since|as|due|for|at\sbest|from\sme(?!\s(?:would|could|is|means))|overall|here|(?:points?|punkte?n?)\b(?!\s(?:for|on|in|and)\b))\b)"
)
_ON_A_SCALE = lazily(r"\bon\sa\s(?:\w{1,8}\s)?scale\s(?:of|from)\s\S{1,5}\s?(?:-|–|to)\s?\S{1,5}")
"""The scale that a judge names before it gives its score."""

_CLAUSE_SIGNS = (",", "; ", " – ", " — ", " - ")

_GIVING = lazily(r"\b(?:giv(?:e|es|en|ing)|gave|award(?:s|ed|ing)?|gets?|getting|receiv(?:e|es|ed|ing))\b")
"""Words that give a score where it is said to whom or as what, and otherwise anything."""

_MAKES = lazily(r"\b(?:gives?|gave|giving)\s(?:\w{1,12}\s)?$")
_FITS = lazily(
    r"\s(?:is|seems|feels|would\sbe)\s(?:more\s|most\s)?(?:appropriate|fair|warranted|justified|right|"
    r"reasonable|fitting|suitable)\b(?!\s(?:if|for|when)\b)"
)
_POINTS_MADE = lazily(r"s?\s(?:in\s(?:favou?r|support)|about|against|that|to|of|which|each|per)\b")
_GIVEN_TO = frozenset("of a an it this response summary answer output text".split())
_HYPOTHETICAL = lazily(
    r"\b(?:would\shave|'d\shave|consider(?:ed|ing)?\s(?:giving|rating|scoring|awarding|an?\b)|"
    r"(?:thought\sabout|debated)\s(?:giving|rating|scoring)|could\shave|might\shave|should\shave|"
    r"could\s(?:be|earn|get|reach|score)|"
    r"(?:to|and|would|could)\s(?:\w+\s)?(?:achieve|reach|attain|become|bring|raise|elevate|push|bump|warrant|"
    r"merit|obtain|earn|receive|get)\b(?!\s(?:a|the)\s(?:low|fail))|"
    r"to\s(?:be|make\sit|deserve|score|give\sit|rate\sit)|"
    r"from\s(?:being|achieving|reaching|earning|receiving|getting|scoring|obtaining|attaining|deserving|a\b|"
    r"the\b)|"
    r"(?:prevent|keep|stop|hold|deduct|detract)(?:s|ed|ing)?\b|instead\sof|rather\sthan|short\sof|"
    r"(?:less|lower|higher|more|better|worse|other)\sthan|below|above|not(?:\squite)?\s(?:an?|the|deserve|"
    r"merit|warrant|give|reach|achieve|score)|"
    r"cannot|can't|couldn't|doesn't|does\snot|didn't|did\snot|isn't|is\snot|wouldn't|would\snot|hesitat\w+|"
    r"(?:was|were|am)\s(?:going|about|ready|inclined|set)\sto|(?:refus|declin|plann|meant|intend|want)\w{0,3}\sto|"
    r"(?:initially|originally|at\sfirst|first\sthought)|"
    r"(?:wäre|wären|hätte|hätten|gäbe|(?<!ich\s)würde(?!\sich\b)|würden|könnte|könnten|müsste)|"
    r"(?:never|nobody|no\sone|hardly|barely)\s(?:\w+\s)?(?:giv|rat|scor|award|assign|deserv|earn|merit)\w*|"
    r"(?:almost|nearly|close\sto|far\sfrom|at\sleast|at\smost|up\sto|under|over)\s(?:an?)?|(?:love|like|want|"
    r"wish|tempted|tempting)\sto|"
    r"(?:max|maximum|minimum|possible)\s(?:score|rating|mark|grade)s?\s(?:is|of|being|was)|(?:highest|lowest|"
    r"top|best)\s(?:possible\s)?(?:score|rating|mark|grade)s?\s(?:is|being|was)|required\s(?:by|for)|"
    r"criteria\sfor|rubric\sfor|scale\sof|scale\sfrom|ranging\sfrom)\b"
    r"|(?<![a-z])keine?\s|要得|不会?给|不能给|及格|一开始|起初|最初|原本|本想|想给|(?:처음|애초)에|要达到|达到|本应|本可|本来|不足以|不值|不能|无法|没有|未|距离|不是|려면|위해|않|못"
)
_CONDITION = lazily(r"\b(?:if|whether|unless|had\sit|were\sit|would\shave)\b|如果|若|要是|려면|했다면")
_MODAL = lazily(r"\b(?:would|could|might)\b(?<!i would)|会|(?<!只)能|可以|可得|将|을\s?것")
_IS_DESCRIBED = lazily(
    r"\s{0,2}[\"'”]?\s{0,2}(?:(?:would|could|might)\s[^.;,\n]{0,40}\bif\b|to\s(?:responses|answers|summaries|"
    r"outputs|texts)\b|means|represents|indicates|denotes|requires|;?\s?but\si\s(?:lack|was\sasked)\b|from\sme\swould\b|would\s(?!be\b)|would\sbe\s(?:for|given|"
    r"reserved|only|needed|required|if)\b|if\b|in\sthe\s(?:rubric|scale|criteria)|is\s(?:given|reserved|for|"
    r"defined|awarded\sto|when)|"
    r"(?:that|which)\s(?:the|its|this|his|her|an?)\s[^.;\n]{0,30}\b(?:gives?|gave|claims?|demands?|wants?|requests?|"
    r"asks?|assigns?)\b|(?:geben|vergeben)?,?\s?(?:wenn|falls|sofern)\b|代表|表示|意味|是指|的标准|标准|档|은\s|는\s|이려면)"
)
_KOREAN_NO = lazily(
    r"[가-힣]{0,3}\s?[가-힣]{0,6}(?:\s?생각했|\s?고려했|\s수\s?(?:는|가)?\s?없|려면|기\s?위해|지\s?않|지\s?못|아니[라고며]|요청|요구|주장|원하|원했|바라|바랐|기에는|"
    r"에\s?가깝|에\s?근접|받았을|줬을|주었을|이었겠|였겠|이었을|였을|텐데|을\s?주고\s?싶|라고|으로\s?표시|인\s(?!것))"
)
_TAKEN_BACK = lazily(
    r"\s?\?|\s{0,2}(?:太[高低多]|[过過偏][高低]|(?:(?:is|was|would\sbe|seems|feels)\s)?(?:far\s|much\s|"
    r"a\sbit\s)?too\s(?:high|low|generous|harsh|much|strict|lenient)\b|"
    r"(?:is|was|seems|would\sbe)\s(?:unjustified|undeserved|unwarranted|unfair|wrong)\b|"
    r"(?:은|는|이)?\s?너무\s?(?:높|낮|과)|(?:were\s|was\s|are\s|is\s|have\sbeen\s)?(?:deduct|subtract|dock)(?:ed|"
    r"ion)|감점|차감|깎)"
    r"|\s(?:with|had|were|once)\b(?=[^.\n]{0,40}\b(?:more|better|been|added|fewer|less)\b)"
)
"""What follows a number that is not given: a doubt, a verdict on the number itself, a deduction."""

_TAKEN_OFF = lazily(
    r"(?:\b(?:deduct|subtract|dock)(?:s|ed|ing)?(?:\s\w{1,12}){0,2}|\b(?:los(?:es?|ing)|lost|minus)|扣[了掉除]?|"
    r"减去?|감점\s?:?|차감)\s?$"
)
_ATTRIBUTED = lazily(
    r"\b(?:users?|authors?|writers?|students?|prompts?|instructions?|questions?|texts?|responses?|summary|"
    r"answers?|essays?|assistants?|candidates?|others?|"
    r"someone|somebody|people|everyone|he|she|they|judges?|raters?|reviewers?|evaluators?|graders?|"
    r"annotators?|customers?|systems?|models?)\s(?:\w{1,12}\s){0,2}?"
    r"(?:ask|request|demand|want|claim|insist|propos|instruct|urg|expect|sa(?:ys|id)\b|suggest(?:s|ed)\b|"
    r"argu|stat(?:es|ed)\b|think|believ|tell|told)"
    r"|\b(?:users?|customers?|authors?|students?|readers?|reviewers?|raters?|annotators?|someone|people|he|she|they)"
    r"\s(?:\w{1,12}\s)?(?:rat(?:es|ed)|gave|gives|scores|scored|awards|awarded)\b"
    r"|\b(?:previous|prior|earlier|other|another|human|second|former)\s(?:judge|rater|reviewer|evaluator|"
    r"grader|annotator|person|model)s?\b"
    r"|\b(?:asked|told|instructed|urged|ordered|requested|tempted)\s(?:me\s|us\s|you\s|"
    r"the\sjudge\s)?(?:to\s(?:give|award|assign|output|answer|say|write|respond)|for)\b"
    r"|\b(?:one|some|someone|people|others|many)\s(?:might|may|could|would)\b"
    r"|\b(?:rubric|criteria|guidelines?|standards?)\s(?:\w{1,12}\s){0,2}?(?:assign|giv|award|requir|defin|"
    r"call|reserv|describ|specif|sa(?:ys|id)\b)"
    r"|\b(?:average|mean|customer|user|product|overall\sproduct|star)\sratings?\s(?:of|is|was)\b"
    r"|\b(?:product|hotel|restaurant|movie|film|book|phone|app|game|critics?|reviews?|guests?|customers?|"
    r"buyers?|users?|readers?|voters?)\s(?:\w{1,12}\s){0,2}?"
    r"(?:giv|gave|ha[sd]\b|have\b|receiv|got\b|gets\b|is\srated|was\srated|scored?\b)"
    r"|\bit\s(?:\w{1,12}\s)?says\b"
    r"|\b(?:modèle|réponse|auteur|texte|modelo|respuesta|autor|texto|modello|risposta|testo|modell|antwort)\b"
    r"[^,.;]{0,16}\b(?:donne|attribue|demande|da|pide|dà|chiede|gibt|verlangt)\b"
    r"|(?:摘要|回答|文章|原文|学生|助手)[^,。;]{0,6}(?:说|称|提到|写|表示|声称)"
    r"|\b(?:responses|answers|summaries|outputs|texts|essays)\s(?:\w{1,12}\s){0,3}?(?:get|receive|earn|"
    r"deserve|score|merit)\b"
    r"|(?:用户|用戶|作者|读者|有人|别人|其他|上一位|前一位|之前)[^,。"
    r";]{0,10}(?:要求|认为|說|说|希望|给|打|声称)"
    r"|(?:사용자|작성자|저자|이전|다른\s?(?:심사|평가))[^,.;]{0,10}(?:요청|요구|주장|말|원하|심사|평가)"
)
_FIRST_PERSON = lazily(
    r"\bi\b|\b(?:i'd|i'll|so|but|therefore|thus|hence|we)\b|我|但|因此|所以|으나|지만|저는|나는|따라서"
)
_COUNTS_THINGS = lazily(
    r"\s(?!(?:for|in|on|because|as|and|but|with|since|due|to|at|overall|from|based|would|is|was|given|though|"
    r"although|however|while|"
    r"indicating|reflecting|which|that|stars?|points?|here|this|out|or|rather|instead|when|considering|"
    r"considered|the|it|there|i|seems?|"
    r"if|by|per|under|according|perfect|excellent|good|fair|poor)\b)[a-z]{2,}"
    r"|(?:分|点|點)[钟之为别析数成支类部段布享明鐘為別數類]|\s?(?:个|個|条|条|项|種|种|篇|句|次|年|月|日|名|位|개|가지|번|명|年)"
)
_SHARE_OF_THINGS = lazily(
    r"\s(?:of\s(?:the|these|those|its)|[a-z]+s\s(?:are|were|have|is|do|did)|(?:main|key|major|important|"
    r"given|listed|required|requested|stated|mentioned|expected|cited|relevant|supported|core)\s[a-z]+"
    r"|(?!(?:stars|points|marks|as|is|has|was|thus|plus|this|its|across|versus|unless|less|besides|always|"
    r"towards)\b)[a-z]{2,}s)\b"
)
_RATES_ANOTHER = lazily(
    r"\b(?:response|assistant|answer|summary|author|writer|user|student|model)\s(?:\w{1,12}\s)?(?:rates|"
    r"rated|gives|gave|awards|awarded)\s(?:the|its|this|that)\s"
    r"(?!(?:response|answer|summary)\b)[a-z]{2,}"
)
"""A response that scores something itself: "rates the movie 9/10"."""

IN_PARTS = lazily(
    r"\s(?:for|on|in)\s[a-z "
    r"]{2,30}(?:[,;]|\sand|\sbut)\s(?:and\s|but\s)?(?:(?:loses|earns|gets|has)\s)?(?:an?\s)?[0-9]++(?:\.[0-9]++)?+(?:/[0-9]++)?\s(?:for|on|"
    r"in)\s[a-z]"
)
"""One score for this and another one for that."""

_BY_OTHERS = lazily(
    r"\sby\s(?:the\s|its\s|most\s)?(?:critics|users|customers|guests|reviewers|readers|buyers|viewers|"
    r"people)\b"
)
_CONCLUDES = lazily(
    r"\b(?:overall|therefore|thus|hence|final(?:ly)?|conclu\w+|in\s(?:summary|sum|total)|consequently|so|"
    r"as\sa\sresult|accordingly|"
    r"i\s(?:would|will|'d)?\s?(?:give|rate|score|assign|award|grade)|i(?:'d|'ll)\s(?:give|rate|score|assign|"
    r"award|grade)|given\s(?:this|these|that|the))\b"
    r"|因此|所以|综上|总的来说|总体|最终|综合|于是|따라서|그러므로|종합|결론|최종|총평"
)
_IN_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "zero")
_BEFORE_WORD = lazily(
    r"\b(?:(?:scores?|ratings?|grade)\s(?:of|is|as|at|to|would\sbe|should\sbe)\s(?:an?\s)?|(?:give|rate|"
    r"score|award|gave|giving)\s(?:it|this|the)(?:\s(?:response|answer|summary|output|text|essay|"
    r"one))?\s(?:an?\s)?"
    r"|(?:scor(?:es?|ing)|earn(?:s|ing)|deserves|receives|gets)\san?\s)$"
)
_AFTER_WORD = (" out of", " star", " point", "/")
_LEADS = frozenset(
    "of a an is give assign only as at to be it this that them with score rating rated grade say "
    "choose perfect solid strong full just summary response answer "
    "output text it's around about approximately roughly "
    # The words that stand before a score that a judge settles on.
    "on with at for so hence thus therefore leaves makes level is: so: earns earn earned eine mit nur "
    "vergebe gebe clear easy comfortable firm generous safe weak low high decent".split()
)
_LEADS_CJK = (
    *"评評给給打得值为是予出到分数应该它",
    *"점수 점수는 점수를 평점 평점은 点数は 評価は スコアは 得点は".split(),
    *":\"'(",
)
_AFTER_DIGITS = (
    "of ",
    "and a half",
    *"/ 段階 점 分 点 點 星 颗星 顆星 ½ out star point mark pts punkt stern von sur sobre".split(),
)


class SaidScore(NamedTuple):
    """A score that a sentence gives."""

    number: Number
    sentence: int
    concludes: bool


def scores_said(text: str, high: float) -> list[SaidScore]:
    """The scores that sentences near either end give, in order, without those that might have been."""
    windows = [(0, len(text))] if len(text) <= HEAD + TAIL else [(0, HEAD), (len(text) - TAIL, len(text))]
    return [statement for start, end in windows for statement in _said_between(text, start, end, high)]


def concluding(statements: list[SaidScore]) -> list[SaidScore]:
    """Those that count: all where they agree, otherwise those of the last sentence that concludes."""
    if len({statement.number.value for statement in statements}) <= 1:
        return statements
    concluded = [statement for statement in statements if statement.concludes]
    if not concluded:
        return statements
    last = concluded[-1].sentence
    # What is said after the conclusion, and differs from it, leaves open which one was meant.
    return [statement for statement in statements if statement.sentence >= last]


def _said_between(text: str, start: int, end: int, high: float) -> list[SaidScore]:
    statements: list[SaidScore] = []
    numbers = _in_digits(text, start, end) or _in_words(text, start, end)
    for number in numbers[-MOST_NUMBERS:]:
        begin = max(start, number.start - LONGEST_SENTENCE)
        for stop in _SENTENCE_END.finditer(text, begin, number.start):
            begin = stop.end()
        left = text[max(begin, number.start - 160) : number.start]
        if _is_score(text, left, number, high) and not _might_have_been(text, left, number):
            statements.append(SaidScore(number, begin, _CONCLUDES.search(left) is not None))
    return statements


def _in_digits(text: str, start: int, end: int) -> list[Number]:
    """The numbers whose nearest neighbours let them be scores; the rest is not worth a closer look."""
    numbers: list[Number] = []
    for at, until in digits(text, start, end):
        if numbers and at < numbers[-1].until:
            continue
        is_of_score = "/" in text[at:until] or text[until : until + 14].lstrip().startswith(_AFTER_DIGITS)
        left = text[max(0, at - 80) : at]
        if is_of_score or _is_led_to(left[-20:], _LEADS) or _settles(left):
            number = free_number_at(text, at)
            if number is not None:
                numbers.append(number)
    return numbers


def _in_words(text: str, start: int, end: int) -> list[Number]:
    numbers: list[Number] = []
    part = text[start:end]
    for at, until in places(part, _IN_WORDS, MOST_WORDS):
        if part[at - 1 : at].isalnum() or part[until : until + 1].isalnum():
            continue
        if part.startswith(_AFTER_WORD, until) or _BEFORE_WORD.search(part[max(0, at - 32) : at]):
            number = number_at(text, start + at)
            if number is not None:
                numbers.append(number)
    return numbers


def _is_led_to(left: str, words: frozenset[str]) -> bool:
    left = left.rstrip()
    return left.endswith(_LEADS_CJK) or left[max(left.rfind(" "), left.rfind("\n")) + 1 :] in words


def _is_score(text: str, left: str, number: Number, high: float) -> bool:
    after = number.until
    if is_entry(text, number.start, number, is_part=False) or is_legend(text, number):
        return False
    if number.top is not None:
        is_date = left.endswith("on ")
        if number.top != high or is_date or _RATES_ANOTHER.search(left):
            return False
        return _SHARE_OF_THINGS.match(text, after) is None
    following = text[number.end : number.end + 6].lstrip()
    if _settled_abroad(text, left, after):
        return True
    if _COUNTS_THINGS.match(text, number.end if following.startswith(("分", "点", "點")) else after):
        return False
    if following.startswith(("점", "star", "星", "颗星", "顆星")) or _GIVEN_IN_JAPANESE.match(
        text, number.end
    ):
        return True
    if _GIVING.search(left[-48:]) and (
        _gives_points(text, left, number) or _is_led_to(left[-20:], _GIVEN_TO)
    ):
        return True
    if _FITS.match(text, after) and _is_led_to(left[-20:], _GIVEN_TO):
        return True
    if _SETTLES.search(left[-48:]) and _CLAUSE_IS_OVER.match(text, after):
        return True
    return _is_led_to(left[-20:], _LEADS) and _SCORING.search(left[-48:]) is not None


def _settles(left: str) -> bool:
    return _SETTLES.search(left) is not None or _SETTLES_ABROAD.search(left) is not None


def _settled_abroad(text: str, left: str, after: int) -> bool:
    """Whether words of another language give the number, and none of them says no."""
    given = _SETTLES_ABROAD.search(left[-80:])
    if given is None or _NO_ABROAD.search(left[-80:]):
        return False
    return bool(_CLAUSE_IS_OVER.match(text, after) or _CLAUSE_IS_OVER_ABROAD.match(text, after))


def _gives_points(text: str, left: str, number: Number) -> bool:
    """Whether points are awarded, and not made: a response that "gives 3 points in favour" is not scored."""
    if not text.startswith("point", number.end + 1) or _POINTS_MADE.match(text, number.until):
        return False
    return _MAKES.search(left) is None or _FIRST_PERSON.search(left[-48:]) is not None


def _might_have_been(text: str, left: str, number: Number) -> bool:
    """Whether the clause of the number says what was not given, or the sentence states a condition."""
    clause = _ON_A_SCALE.sub(" ", left[max(left.rfind(sign) for sign in _CLAUSE_SIGNS) + 1 :])
    return (
        _HYPOTHETICAL.search(clause[-72:]) is not None
        or _CONDITION.search(clause) is not None
        or (_CONDITION.search(left) is not None and _MODAL.search(clause) is not None)
        or _IS_DESCRIBED.match(text, number.until) is not None
        or is_taken_back_behind(text, number.until)
        or is_attributed(clause)
        or IN_PARTS.match(text, number.until) is not None
        or _BY_OTHERS.match(text, number.until) is not None
        or is_taken_back(text, number)
        or _KOREAN_NO.match(text, number.until) is not None
    )


def is_attributed(clause: str) -> bool:
    """Whether another person says so, or requests it, and the judge does not take it up afterwards."""
    others = _ATTRIBUTED.search(clause)
    return others is not None and _FIRST_PERSON.search(clause, others.end()) is None


def is_taken_back(text: str, number: Number) -> bool:
    """Whether the words beside a number say that it is not given: "5?", "5分太高", "3 points deducted",
    "扣3分"."""
    if _TAKEN_BACK.match(text, number.until):
        return True
    return _TAKEN_OFF.search(text, max(0, number.start - 32), number.start) is not None


def counts_things(text: str, number: Number) -> bool:
    """Whether the number counts what follows it, or is one that a condition follows, and so is no score."""
    return any(
        pattern.match(text, number.until) for pattern in (_COUNTS_THINGS, _SHARE_OF_THINGS, _IS_DESCRIBED)
    )


def is_count(text: str, number: Number) -> bool:
    """Whether a number, or a share such as "3 of the 5 steps", counts what follows it."""
    if number.top is not None:
        return _SHARE_OF_THINGS.match(text, number.until) is not None
    return counts_things(text, number)
