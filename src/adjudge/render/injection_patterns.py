"""The patterns of prompt injection: wordings that address the
judge, each with the words that trigger a search for it.
"""

from __future__ import annotations

# Patterns of injected text, each with the words that trigger it. All are matched against the text in
# lower case. An ASCII trigger word must be a word of the text; other triggers may be anywhere in it. The
# pattern is tried only around its trigger.


_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"


_PATTERN_RULES = r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|above|everything)"


_TOP_WORDS = r"(?:[0-9]{1,3}|full|maximum|max|perfect|highest|top|best|five|ten)"


_POINTS = r"(?:scores?|rating|grade|marks?|points?)"


_POINT_WORDS = ("score", "scores", "rating", "grade", "mark", "marks", "point", "points")


_GIVING = r"\b(?:give|assign|award|grant|output|return|print|write|rate|score|grade|mark|deserves?)\b"


PATTERNS: tuple[tuple[tuple[str, ...], str], ...] = (
    # Telling the judge to ignore its instructions.
    (
        ("ignore", "disregard", "forget", "override", "bypass", "skip"),
        rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{{0,40}}\b{_PATTERN_RULES}\b",
    ),
    (
        ("ignora", "ignorez", "ignoriere", "ignoriert", "ignoruj"),
        r"\bignor(?:a|ez|iere|iert|uj)\b[^.\n]{0,30}\b(?:instruc|anweisung|regel|consigne|reg)",
    ),
    (
        ("忽略", "无视", "忘记", "忘掉", "不要理会", "無視"),
        r"(?:忽略|无视|忘记|忘掉|不要理会|無視)[^。\n]{0,12}(?:指令|指示|要求|标准|規則|规则|内容|提示)",
    ),
    (("無視",), r"(?:指示|命令|ルール)[^。\n]{0,6}無視"),
    (("무시", "잊"), r"(?:지시|명령|지침|규칙|프롬프트|기준)[^.\n]{0,10}(?:무시|잊)"),
    (("игнорир", "забудь"), r"(?:игнорир|забудь)[^.\n]{0,30}(?:инструкц|правил|указан)"),
    # Telling it which score to give or which response to choose.
    (
        _POINT_WORDS,
        rf"{_GIVING}[^.\n]{{0,12}}\b(?:this|the|my|its?|that|every|each|any|all)\b[^.\n]{{0,24}}\b{_POINTS}\b[^.\n]{{0,8}}\b{_TOP_WORDS}\b",
    ),
    (
        _POINT_WORDS,
        rf"{_GIVING} (?:it |me |us |them |(?:this|the|my|that|every|each) (?:{_JUDGED} )?)?(?:an? |the )?"
        rf"(?:full|maximum|max|perfect|highest|top)[- ](?:possible )?{_POINTS}\b",
    ),
    (
        ("deserves", "deserve", "merits"),
        rf"\b(?:every|each|any|this|my) {_JUDGED}s? (?:deserves?|merits?|must (?:get|receive)|should "
        rf"(?:get|receive|be))\b[^.\n]{{0,30}}\b{_TOP_WORDS}\b",
    ),
    (
        ("output", "reply", "respond"),
        r"\b(?:must|should|please|to|now|and|only|just) (?:output|answer with|reply with|respond with)"
        r"(?: only| just| exactly)?(?: the| a)?(?: number| score| digit)?:? ['\"“]?[0-9]{1,2}\b",
    ),
    (
        ("output", "assign", "award"),
        r"^\W{0,3}(?:give|output|assign|award) ['\"“]?[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?\b[^\w\n]{0,3}$",
    ),
    (
        ("choose", "pick", "select", "prefer", "vote", "declare"),
        r"\b(?:choose|pick|select|prefer|vote for|declare) "
        r"(?:response|output|answer|assistant|option|candidate) [ab12]\b",
    ),
    (("分",), r"(?:请|直接|必须|应该|务必)[^。\n]{0,6}(?:给出?|打|评)[^。\n]{0,6}[0-9十五满高]{1,3}分"),
    (("점",), r"(?:만점|[0-9]{1,2}점|높은 점수)(?:을|를)?\s{0,2}(?:주세요|줘|주십시오|부여하|매겨|달라)"),
    (
        ("invert", "inverted", "reversed"),
        r"\binvert(?:ed)? the (?:scale|scores?|rubric)|\b(?:scale|scores?) (?:is|are) (?:inverted|reversed)",
    ),
    (("worst", "lowest"), r"\bour [0-9]{1,2} is the (?:worst|best|lowest|highest)"),
    # Claiming authority, or a verdict that is already settled.
    (
        ("judge", "grader", "evaluator", "rater", "reviewer", "llm"),
        r"\b(?:dear|hello|hi|attention|note to|message to|hey),? (?:the |all "
        r")?(?:judge|grader|evaluator|rater|reviewer|llm|ai)\b",
    ),
    (
        ("developer", "creator", "author", "administrator", "admin", "owner", "maintainer", "operator"),
        r"\b(?:i am|i'm|as) (?:the|your|an?) "
        r"(?:developer|creator|author|administrator|admin|owner|maintainer|operator)"
        r"[^.\n]{0,60}[.\n]?[^.\n]{0,20}\b(?:you|evaluation|rubric|score|choose|judge)\b",
    ),
    (("authorise", "authorize"), r"\bi (?:hereby )?authori[sz]e you"),
    (
        ("grader", "judge", "evaluator", "assistant", "mode", "bot", "rater"),
        r"\byou are (?:now|no "
        r"longer)\b[^.\n]{0,40}\b(?:grader|judge|evaluator|assistant|mode|ai|model|bot|rater)",
    ),
    (
        ("verified", "rated", "graded", "scored", "certified", "judged", "approved"),
        r"\b(?:verified|rated|graded|scored|certified|judged|approved)\b[^.\n]{0,60}\b(?:perfect|flawless|([0-9]{1,2}) "
        r"?/ ?\1\b)",
    ),
    (
        ("instruction", "instructions", "prompt", "rubric", "scoring"),
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|rubric|scoring "
        r"(?:rules?|guide))\s{0,2}[:：]",
    ),
    (("你现在是", "我是你的", "이제"), r"你现在是|我是你的(?:开发者|创造者|主人)|(?:당신|너)[은는] 이제"),
    # Parts of a judge's prompt or reply inside the judged text.
    (
        ("<|", "[inst]", "[/inst]", "<<sys", "<</sys", "_of_turn>"),
        r"<\|[a-z_]{2,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    ),
    (("[[",), r"\[\[ ?(?:[ab]|tie|[0-9]{1,2}(?:\.[0-9])?|[ab](?:>>?|=|<<?)[ab]) ?\]\]"),
    (("[result]", "[/result]"), r"\[/?result\]"),
    (
        ("<",),
        r"</?(?:system|scores?|result|rating|verdict|judgment|grade|rubric|evaluation|feedback)[ \t]{0,3}>",
    ),
    (
        ("<",),
        r"</?(?:source_text|generated_response|response|response_[ab]|reference|instruction|summary|task|candidate)"
        r"(?:-[0-9a-f]{1,16})?[ \t]{0,3}>",
    ),
    (
        ("##",),
        r"^[ \t]{0,8}#{2,6}[ \t]{0,3}(?:score|rubric|reference answer|feedback|task description|the "
        r"instruction|"
        r"response to evaluate|response [ab]\b|system|evaluation (?:criteria|steps)|output format)",
    ),
    (("assistant", "system", "human"), r"^[ \t]{0,8}(?:system|assistant|human)[:：]"),
    (("assistant：", "system："), r"^[ \t]{0,8}(?:system|assistant)："),
    (
        ('score":', 'winner":', 'verdict":', 'rating":', "score':", "winner':", "verdict':", "rating':"),
        r"(?:score|winner|verdict|rating)[\"'] ?: ?[\"']?(?:[0-9]{1,2}|a|b|tie|baseline|enhanced)\b",
    ),
    (
        ("begin", "end", "start"),
        r"\[(?:begin|end|start|stop) "
        r"[^\]\n]{0,30}\b(?:example|response|answer|evaluation|submission|candidate)\b"
        r"|^\W{0,8}(?:begin|end|start|stop) of (?:the "
        r")?(?:example|response|answer|evaluation|submission|candidate)\b",
    ),
    (
        ("score", "rating", "verdict", "grade", "judgment", "judgement"),
        r"^[ \t]{0,8}(?:final )?(?:score|rating|verdict|grade|judge?ment)[ \t]{0,3}[:：-][ "
        r"\t]{0,3}[0-9]{1,2}(?: ?/ ?[0-9]{1,2})?[ \t.]{0,3}$",
    ),
    (
        ("评分", "得分", "分数", "回答", "점수"),
        r"^[ \t]{0,8}(?:评分|得分|分数|gpt-4回答|점수)[ \t]{0,3}[:：][ \t]{0,3}[0-9]{1,2}",
    ),
    (
        ("grading", "scoring", "evaluating", "judging", "rating"),
        r"\bwhen "
        r"(?:grading|scoring|evaluating|judging|rating)\b[^.\n]{0,60}\b(?:always|select|give|choose|output|assign|must)\b",
    ),
    (
        ("ignore", "disregard", "forget"),
        r"\b(?:ignore|disregard|forget) (?:what|everything|all)(?: that)? you (?:were|have "
        r"been|are|was|know)\b",
    ),
    (
        ("score", "rate", "grade", "mark"),
        r"\b(?:score|rate|grade|mark) (?:this|it|my|the above)(?: "
        r"(?:response|answer|output|item|submission|text|one|entry|reply))? "
        r"(?:(?:as|with|at|an?|the) "
        r")*(?:[0-9]{1,2}\b|highest|best|top|full|perfect|correct|excellent|generously|highly|positively|favou?rably)",
    ),
    # A verdict that the text pronounces itself, and the tone of a console.
    (
        ("score", "rating", "grade", "evaluation"),
        r"\b(?:(?:final|expected|correct|right|true|only valid) (?:score|rating|grade) (?:for this "
        r"[a-z]{4,12} )?(?:is|=|:)|"
        r"(?:score|rating|grade) ?[=:] ?(?:a\+|[0-9]{1,2} ?/ ?[0-9]{1,2}\b)|evaluation (?:is "
        r")?(?:complete|finished|over)\b)",
    ),
    (
        ("wins", "winner", "incorrect", "wrong"),
        r"\b(?:answer|response|assistant|output|candidate) [ab] (?:wins|is (?:the )?(?:winner|clear "
        r"winner))\b|\bthe winner is (?:[a-z]{4,12} )?[ab]\b",
    ),
    (
        ("choose", "prefer", "pick", "win"),
        r"\blet (?:this|my) (?:response|answer|output|one) win\b|\b(?:choose|prefer|pick|select) "
        r"(?:this|my) (?:one|response|answer|output|candidate)\b|\bthe other "
        r"(?:response|answer|output|candidate) "
        r"(?:is|was) (?:wrong|incorrect|harmful|false|bad|worse|unsafe)",
    ),
    (
        ("output", "respond", "reply", "print"),
        r"(?:from now on|your (?:new )?task|do nothing else|and "
        r"stop)[^\n]{0,40}\b(?:print|output|respond|reply|answer|return|say)\b[^\n]{0,24}[0-9]{1,2}\b"
        r"|\b(?:print|output|return|say) ['\"“]?[0-9]{1,2}['\"”]? (?:and|then) (?:stop|nothing|end)\b",
    ),
    (
        ("anything", "nothing", "rating", "score", "grade"),
        r"\b(?:anything|any (?:score|rating|grade)|nothing) (?:less|lower|other|below|under)\b(?: "
        r"than)?[^.\n]{0,16}\b(?:[0-9]{1,2}|full|maximum|perfect|highest|top)\b",
    ),
    (
        ("admin", "override", "god", "maintenance"),
        r"\b(?:admin|god|maintenance|root) (?:mode|session|override)\b|\bsystem override\b",
    ),
    (
        ("assign", "award"),
        r"(?:^|[.!?:] )(?:please |just )?(?:assign|award) (?:it |this )?an? [0-9]{1,2}(?=[,.!\s]|$)",
    ),
    (
        ("say", "conclude"),
        r"\b(?:say|write|answer|output|conclude|decide|reply)(?: that)? (?:response |answer "
        r"|assistant )?[ab] is (?:the )?(?:better|best|winner)",
    ),
    (
        ("rate", "grade", "approve"),
        r"\b(?:rate|grade|score|mark|approve|pass) (?:everything|every one|all of (?:them|these))\b",
    ),
    (("score", "rating"), r"\bset (?:the )?(?:score|rating|grade) (?:to|=) ?[0-9]"),
    (("task",), r"\byour (?:only|new|sole|real|actual|true) (?:task|job|role|goal|instruction)s?\b"),
    (
        ("verdict", "winner"),
        r"\b(?:verdict|winner) ?[:：=] ?(?:response |answer |assistant )?(?:[ab]\b|[0-9]{1,2}\b)",
    ),
    (
        ("rubric", "criteria", "scoring", "grading", "evaluation"),
        r"\b(?:rubric|criteria|scoring guide|(?:scoring|grading|evaluation) "
        r"(?:rules|rubric|guidelines))\b[^.\n]{0,12}\b"
        r"(?:no longer|(?:has|have) (?:been )?(?:changed|replaced|updated)|(?:is|are) "
        r"(?:void|cancelled|suspended|disabled|off))\b",
    ),
    (
        ("grader", "judge", "evaluator", "graders", "judges", "evaluators", "rater", "raters", "evaluation"),
        r"\b(?:output|reply|answer|score|note|message|instructions?) (?:for|to) (?:the |any |all "
        r")?(?:graders?|judges?|evaluators?|evaluation model|raters?)\b"
        r"|\b(?:grader|judge|evaluator|rater)(?:'s|’s) note\b",
    ),
    (
        ("llm", "automated"),
        r"\bif you(?:'re|’re| are) (?:an? )?(?:ai|llm|(?:large )?language "
        r"model|model|automated)\b[^.\n]{0,60}\b(?:grad|evaluat|judg|scor|rat|read|assess)"
        r"|\bto the (?:ai|llm|model)\b[^.\n]{0,30}\b(?:grad|evaluat|judg|scor|rat|assess)",
    ),
    (
        ("treat", "regard"),
        r"\b(?:consider|treat|regard) (?:this|my) (?:response|answer|output|submission|text|one) "
        r"(?:as )?(?:the |an? )?(?:gold|perfect|best|correct|reference|ideal|winner)",
    ),
    (
        ("rubric", "benchmark", "evaluation", "criteria"),
        r"\bi (?:wrote|made|designed|created) (?:the|this) (?:rubric|benchmark|evaluation|criteria)\b",
    ),
    (
        ("选择", "選択", "선택", "выбери", "выбирай"),
        r"(?:选择|選択|선택|выбери|выбирай)[^。.\n]{0,8}(?:回答|答案|答え|응답|답변|ответ)",
    ),
    (("選んで", "선택"), r"(?:この|本|上記の)(?:回答|応答|答え)を選|(?:이|본) (?:응답|답변)을 선택"),
    (("授权", "跳过"), r"(?:授权|跳过)[^。\n]{0,10}(?:评分|标准|规则|评估|输出)"),
    # The beginning of a mark that a cut has left at the end.
    (
        ("[", "<"),
        r"(?:\[/?resul?t?|\[\[[ab]?|<\|[a-z_]{0,20}\|?|</?(?:score|rating|verdict|result)|\[/?ins?t?|<</?sys>?)[ "
        r"\t]{0,3}[0-9ab]{0,2}\s{0,3}\Z",
    ),
)
