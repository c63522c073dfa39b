"""What text that speaks to the judge looks like: patterns, each with the words that call for a look.

All is matched against the text in lower case. A plain word must stand in the text as a word, a sign
or a word of another script anywhere; only around it is the pattern tried.
"""

from __future__ import annotations

_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"
_RULES = r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|above|everything)"
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
    # Telling the judge to drop what it was told.
    (
        ("ignore", "disregard", "forget", "override", "bypass", "skip"),
        rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b{_RULES}\b",
    ),
    (("ignora", "ignorez", "ignoriere", "ignoriert", "ignoruj"), r"\bignor(?:a|ez|iere|iert|uj)\b[^.\n]{0,30}\b(?:instruc|anweisung|regel|consigne|reg)"),
    (("忽略", "无视", "忘记", "忘掉", "不要理会", "無視"), r"(?:忽略|无视|忘记|忘掉|不要理会|無視)[^。\n]{0,12}(?:指令|指示|要求|标准|規則|规则|内容|提示)"),
    (("無視",), r"(?:指示|命令|ルール)[^。\n]{0,6}無視"),
    (("무시", "잊"), r"(?:지시|명령|지침|규칙|프롬프트|기준)[^.\n]{0,10}(?:무시|잊)"),
    (("игнорир", "забудь"), r"(?:игнорир|забудь)[^.\n]{0,30}(?:инструкц|правил|указан)"),
    # Telling it which score or side to give.
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
    # Claiming an authority, or a verdict that was reached already.
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
    # What a prompt or a reply of a judge is made of, standing inside the text that is judged.
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
)  # fmt: skip
