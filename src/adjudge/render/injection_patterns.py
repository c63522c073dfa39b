"""The patterns of prompt injection: wordings that address the
judge, each with the words that trigger a search for it.
"""

from __future__ import annotations

# Patterns of injected text, each with the words that trigger it. All are matched against the text in
# lower case. An ASCII trigger word must be a word of the text; other triggers may be anywhere in it. The
# pattern is tried only around its trigger.


_JUDGED = r"(?:response|answer|output|summary|essay|text|submission|candidate|reply|assistant|completion)"


_PATTERN_RULES = (
    r"(?:instructions?|prompts?|rules?|rubrics?|criteri(?:a|on)|guidelines?|directions?|scale|"
    r"above|everything)"
)


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
        rf"{_GIVING}[^.\n]{{0,12}}\b(?:this|the|my|its?|that|every|each|any|all)\b[^.\n]{{0,"
        rf"24}}\b{_POINTS}\b[^.\n]{{0,8}}\b{_TOP_WORDS}\b",
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
        r"\b(?:verified|rated|graded|scored|certified|judged|approved)\b[^.\n]{0,60}\b(?:perfect|flawless|"
        r"([0-9]{1,2}) "
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
        r"</?(?:source_text|generated_response|response|response_[ab]|reference|instruction|summary|task|"
        r"candidate)"
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
        r"(?:grading|scoring|evaluating|judging|rating)\b[^.\n]{0,60}\b(?:always|select|give|choose|output|"
        r"assign|must)\b",
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
        r")*(?:[0-9]{1,2}\b|highest|best|top|full|perfect|correct|excellent|generously|highly|positively|"
        r"favou?rably)",
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
        r")?(?:ai |llm )?(?:graders?|judges?|evaluators?|evaluation model|raters?)\b"
        r"|\b(?:grader|judge|evaluator|rater)(?:'s|’s) note\b",
    ),
    (
        ("llm", "automated"),
        r"\bif you(?:'re|’re| are) (?:an? )?(?:ai|llm|(?:large )?language "
        r"model|model|automated)\b[^.\n]{0,60}\b(?:grad|evaluat|judg|scor|rat|read|assess)"
        r"|\bto the (?:ai|llm|model)\b[^.\n]{0,30}\b(?:grad|evaluat|judg|scor|rat|assess)",
    ),
    (
        ("number", "digit"),
        r"\b(?:print|output|write|return) (?:only |just |exactly )?the (?:number|digit) [0-9]{1,2}\b",
    ),
    (
        ("compare",),
        r"\b(?:do not|don't|never) compare (?:this|it|my)\b[^.\n]{0,20} (?:with|to|against) the "
        r"(?:source|original|reference)",
    ),
    (
        ("give", "award", "assign", "choose"),
        r"\bif you (?:do not|don't) (?:give|award|assign|choose)(?: it| this)? (?:an? )?(?:score of )?[0-9]{1,2}[,.]",
    ),
    (
        ("choose", "pick", "prefer"),
        r"\b(?:response|answer|assistant) [ab]\b[^.\n]{0,60}\bso (?:choose|pick|prefer) [ab]\b",
    ),
    (
        ("people", "humans", "users", "experts", "raters", "judges"),
        r"[0-9]{2} ?(?:%|percent) of (?:people|humans|users|experts|raters|judges) (?:believe|prefer|think|agree)\b"
        r"[^.\n]{0,20}\b(?:this|response|answer)\b",
    ),
    (("confirm",), r"\bi confirm (?:that )?this is the (?:best|correct|perfect)\b"),
    (("task",), r"\b(?:new|your) task ?: ?(?:answer|reply|respond|output|write|print)\b"),
    (("tie",), r"\b(?:so|just|simply|please) (?:say|declare|output|choose|call it) (?:a )?tie\b"),
    (
        ("rubric", "criteria", "scale"),
        r"\b(?:do not|don't|never) (?:read|use|apply|follow) the (?:rubric|criteria|scale)\b",
    ),
    (("mine",), r"\b(?:pick|choose|select|prefer|vote for) mine\b"),
    (
        ("instructions",),
        r"\byour instructions have (?:been )?(?:changed|updated|replaced)\b",
    ),
    (
        ("answer", "score", "rating", "verdict"),
        r"\byour (?:last|previous|earlier) (?:answer|score|rating|verdict|evaluation) was\W{1,3}[0-9]",
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
        r"(?:\[/?resul?t?|\[\[[ab]?|<\|[a-z_]{0,20}\|?|</?(?:score|rating|verdict|result)|\[/?ins?t?|"
        r"<</?sys>?)[ "
        r"\t]{0,3}[0-9ab]{0,2}\s{0,3}\Z",
    ),
)

_IN_GERMAN: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignorieren", "ignoriere", "ignorier", "vergiss", "vergessen", "missachte", "missachten"),
        r"\b(?:ignorieren?|ignorier|vergiss|vergessen sie|missachten?)\b[^.\n]{0,40}"
        r"(?:anweisung|vorgabe|kriteri|regeln?\b|rubrik|prompt|alles,? was (?:oben|davor|vorher|bisher)|"
        r"(?:vorherig|bisherig|obig)e)",
    ),
    (
        ("systemnachricht", "systemmeldung", "systemhinweis", "systemanweisung"),
        r"^\W{0,8}system(?:nachricht|meldung|hinweis|anweisung)\W{0,3}:",
    ),
    (
        ("ki", "sprachmodell", "llm", "modell"),
        r"\b(?:falls|wenn|sofern) (?:du|sie|ihr) (?:eine? )?(?:ki|sprachmodell|llm|modell)\b[^.\n]{0,60}"
        r"(?:bewert|beurteil|prüf|benot)",
    ),
    (("antwort",), r"\b(?:wählen? (?:sie )?|bevorzugen? (?:sie )?|nimm )(?:die )?antwort [ab12]\b"),
    (
        ("ende",),
        r"\bende (?:der|des|dieser|dieses) (?:antwort|textes|beispiels|aufgabe)\b\W{1,8}"
        r"(?:end)?(?:bewertung|note|punkte|urteil|ergebnis)\b",
    ),
    (
        ("bist", "sind"),
        r"\b(?:du bist|sie sind) (?:jetzt|nun|ab jetzt|ab sofort|von nun an)\b[^.\n]{0,30}"
        r"(?:lehrer|prüfer|gutachter|richter|bewerter|juror|modus|assistent)",
    ),
    (
        ("zahl", "ziffer"),
        r"\b(?:schreiben?|gib|geben sie|antworten?)\b[^.\n]{0,30}\bnur (?:mit )?(?:die|der|eine|einer) "
        r"(?:zahl|ziffer) [0-9]{1,2}\b",
    ),
    (
        ("bestnote", "punktzahl", "punkte", "note", "wertung", "noten"),
        r"\b(?:alle|jede[rs]?|diese[rs]?) (?:antwort|text|zusammenfassung)\w{0,3} (?:erh[aä]lt|erhalten|verdient|"
        r"verdienen|bekommt|bekommen)\b[^.\n]{0,20}(?:bestnote|höchst|vollen? punkt|maximal|beste note)",
    ),
    (
        ("hinweis", "achtung", "an", "liebe", "lieber", "nachricht"),
        r"\b(?:achtung|hinweis (?:an|für)|nachricht an|liebe|lieber)(?: die| den| das)?:? "
        r"(?:bewerter|prüfer|gutachter|bewertungsmodell|juror|ki\b)",
    ),
    (("skala",), r"skala (?:ist|wurde) (?:jetzt |nun )?umge(?:kehrt|dreht)"),
    (
        ("vergleiche", "vergleichen"),
        r"\bvergleichen? (?:sie )?(?:diesen|diese|dieses|es|ihn)\b[^.\n]{0,20} nicht mit (?:der|dem) "
        r"(?:quelle|vorlage|original|text)",
    ),
    (
        ("als",),
        r"\bals (?:entwickler|autor|administrator|betreiber)\w*\b[^.\n]{0,40}"
        r"\b(?:erlaube|ermächtige|befehle|autorisiere)\b",
    ),
    (("antwort",), r"\bdeine (?:letzte|vorige|vorherige) antwort war\W{1,3}[0-9]"),
    (
        ("antwort",),
        r"\bantwort [ab12] (?:ist|hat|gewinnt)\b[^.\n]{0,20}(?:sieger|gewinner|gewonnen|haushoch)",
    ),
    (("zahl", "ziffer"), r"\bgib\b[^.\n]{0,30}\b(?:genau|nur|bloß) (?:die )?(?:zahl|ziffer) [0-9]{1,2}\b"),
    (("anweisungen",), r"\bdeine anweisungen (?:haben sich|wurden) geändert"),
    (
        ("punkte", "punktzahl"),
        r"\b(?:gib|vergib|geben sie|schenk)\b[^.\n]{0,30}\b(?:volle|alle|maximale) punkt",
    ),
    (("aufgabe",), r"\bneue aufgabe ?: ?(?:antworte|schreib|gib|sag)"),
    (("unentschieden",), r"\bsag(?:e|en sie)? (?:einfach |nur |bitte )?unentschieden"),
    (
        ("kriterien", "rubrik", "skala"),
        r"\b(?:lies|lesen sie|beachten?|befolgen?)(?: sie)? die (?:kriterien|rubrik|skala) nicht",
    ),
)


_IN_FRENCH: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignore", "ignorez", "oublie", "oubliez", "compte", "abstraction", "applique", "appliquez"),
        r"\b(?:ignorez?|oubliez?|ne (?:tiens|tenez) pas compte|(?:fais|faites) abstraction|"
        r"n['’]appliquez? pas)\b[^.\n]{0,40}"
        r"(?:consigne|instruction|grille|barème|critère|règles?\b|ci-dessus|qui précède)",
    ),
    (("message", "note", "consigne"), r"^\W{0,8}(?:message|note|consigne) (?:du )?système[ \t]{0,3}[:：]"),
    (
        ("ia", "llm", "intelligence", "es"),
        r"\bsi (?:tu es|vous êtes) (?:une?|l['’])? ?(?:modèle|ia|llm|intelligence)\b[^.\n]{0,60}"
        r"(?:évalu|not(?:er|es|ez)\b|juge|corrige)",
    ),
    (("choisis", "choisissez"), r"\bchois(?:is|issez) (?:la )?(?:réponse|option) [ab12]\b"),
    (
        ("fin",),
        r"\bfin (?:de la|du|de l['’]) ?(?:réponse|texte|exemple)\b\W{1,8}(?:évaluation|note|score|verdict)",
    ),
    (
        ("tu", "vous"),
        r"\b(?:tu (?:es|joues)|vous (?:êtes|jouez)) (?:désormais|maintenant|dorénavant)\b[^.\n]{0,30}"
        r"\b(?:juge|correct|évaluat|professeur|assistant|mode)",
    ),
    (
        ("note", "points", "sur"),
        r"\b(?:mets|mettez|donnez?|attribuez?|accordez?)\b[^.\n]{0,30}(?:note (?:maximale|parfaite|la plus élevée)|"
        r"(?:meilleure|plus haute) note|(?:totalité des|tous les) points|\b(10|20|5) ?(?:sur|/) ?\1\b)",
    ),
    (
        ("uniquement", "seulement", "simplement", "juste"),
        r"\brépond(?:s|ez|re) (?:uniquement|seulement|simplement|juste) (?:par|avec) (?:un |le (?:chiffre|nombre) )?"
        r"[0-9]{1,2}\b",
    ),
    (
        ("attention", "note", "avis", "message", "ia"),
        r"\b(?:attention|note|avis|message)(?: pour| à| au| aux| à l['’])?[ ,:]{1,2}(?:le |les |l['’])?"
        r"(?:évaluateur|correcteur|juge|jury|modèle d['’]évaluation)|\bchère? (?:ia|juge|correcteur)\b",
    ),
    (("chelle",), r"échelle (?:est|a été) (?:maintenant )?invers"),
    (
        ("compare", "comparez"),
        r"\bne comparez? pas (?:ce|cette|le|la)\b[^.\n]{0,20} (?:à|avec|au)\b[^.\n]{0,10}(?:source|original|texte)",
    ),
    (
        ("tant",),
        r"\ben tant qu(?:e |['’])(?:développeu|auteur|administrat|créat|concept)\w*\b[^.\n]{0,40}"
        r"(?:autorise|ordonne|permets)",
    ),
    (("ta", "votre"), r"\b(?:ta|votre) (?:dernière|précédente) réponse était\W{1,3}[0-9]"),
    (
        ("gagnante", "vainqueur", "gagne"),
        r"\bréponse [ab12] (?:est|gagne)\b[^.\n]{0,24}(?:gagnante|vainqueur|haut la main|par défaut)",
    ),
    (
        ("chiffre", "nombre"),
        r"\b(?:affiche|écri[st]|imprime|renvoie|donne)z?\b[^.\n]{0,30}(?:chiffre|nombre) [0-9]{1,2}\b",
    ),
    (
        ("instructions", "consignes"),
        r"\b(?:tes|vos) (?:instructions|consignes) ont (?:été )?(?:changé|modifié|remplacé)",
    ),
    (
        ("note", "maximum", "points"),
        r"\b(?:chaque|tout|toute|tous les|toutes les|cette|ce) (?:réponse|résumé|texte)s? "
        r"(?:reçoi|obtien|mérit|vaut|valent|doit (?:obtenir|recevoir))[^.\n]{0,20}"
        r"(?:note maximale|meilleure note|maximum|tous les points)",
    ),
    (("nouvelle",), r"\bnouvelle tâche ?: ?(?:répond|écri|affich|donn)"),
    (("dis", "dites", "nul"), r"\b(?:dis|dites) (?:simplement |juste )?(?:égalité|match nul)"),
    (
        ("pas",),
        r"\bne (?:lis|lisez|suis|suivez|regardez?|utilisez?) pas (?:les critères|la grille|le barème)",
    ),
)


_IN_SPANISH: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignora", "ignore", "ignorad", "olvida", "olvide", "omite", "cuenta", "omiso"),
        r"\b(?:ignor(?:a|e|ad)|olvid(?:a|e|ad)|omit(?:e|a)|no (?:tengas?|tenga) en cuenta|caso omiso)\b[^.\n]{0,40}"
        r"(?:instruccion|criterio|rúbrica|reglas?\b|indicacion|(?:todo )?lo (?:anterior|de arriba|dicho))",
    ),
    (("sistema",), r"^\W{0,8}(?:mensaje|aviso|nota) del sistema[ \t]{0,3}[:：]"),
    (
        ("eres", "es"),
        r"\bsi (?:eres|usted es) (?:una? |el |la )?(?:ia|modelo|llm|inteligencia|juez automático)\b[^.\n]{0,60}"
        r"(?:calific|evalú|evalua|puntú|puntua|juzg)",
    ),
    (
        ("respuesta",),
        r"\b(?:elige|escoge|selecciona|prefiere|elija|escoja|seleccione) (?:la )?respuesta [ab12]\b",
    ),
    (
        ("fin",),
        r"\bfin (?:de la|del) (?:respuesta|texto|ejemplo)\b\W{1,8}(?:evaluación|puntuación|nota|calificación)",
    ),
    (
        ("eres",),
        r"\b(?:a partir de ahora|desde ahora|ahora)\b,? eres\b[^.\n]{0,30}\b(?:juez|evaluador|profesor|asistente|modo)",
    ),
    (
        ("solo", "simplemente", "con"),
        r"\b(?:contest[ae]|respond[ea]|escrib[ea]|devuelv[ea]) (?:solo|sólo|únicamente|simplemente)(?: con)?"
        r"(?: un| el)? [0-9]{1,2}\b",
    ),
    (
        ("nota", "puntos", "sobre"),
        r"\b(?:asigna|asigne|dale|dame|ponle|ponme|otorga|otorgue|concede)\b[^.\n]{0,30}(?:máxima (?:puntuación|nota)|"
        r"(?:puntuación|nota) máxima|nota más alta|todos los puntos|\b(10|5) ?(?:sobre|/) ?\1\b)",
    ),
    (
        ("aviso", "nota", "mensaje", "ia", "evaluador", "juez"),
        r"(?:\batención|\baviso|\bnota|\bmensaje)(?: al| para el| a los)?[ ,:]{1,2}"
        r"(?:evaluador|corrector|juez|jurado|modelo evaluador)|\bquerid[oa] (?:ia|juez|evaluador)\b",
    ),
    (("escala",), r"\bescala (?:está|ha sido|fue) (?:ahora )?invertid"),
    (
        ("compares", "compare"),
        r"\bno compares? est[ea]\b[^.\n]{0,20} con (?:la fuente|el original|el texto)",
    ),
    (
        ("como",),
        r"\bcomo (?:desarrollador|autor|administrador|creador)a?\b[^.\n]{0,40}\b(?:autorizo|ordeno|permito)\b",
    ),
    (("respuesta",), r"\btu (?:última|anterior) respuesta (?:fue|era)\W{1,3}[0-9]"),
    (("respuesta",), r"\brespuesta [ab12] (?:es|gana)\b[^.\n]{0,24}(?:ganadora|por defecto)"),
    (
        ("cifra", "mero"),
        r"\b(?:imprime|escribe|muestra|devuelve|pon)\b[^.\n]{0,30}(?:número|cifra) [0-9]{1,2}\b",
    ),
    (
        ("exactamente", "solo"),
        r"\b(?:imprime|escribe|muestra|devuelve|pon)\b[^.\n]{0,30}(?:número|cifra) [0-9]{1,2}\b",
    ),
    (("instrucciones",), r"\btus instrucciones han (?:cambiado|sido)"),
    (
        ("nota", "resumen", "respuesta"),
        r"\b(?:cada|todas? las?|todos? los?|est[ea]) (?:respuesta|resumen|texto)s? "
        r"(?:recib|obten|obtien|merec|val)[^.\n]{0,20}"
        r"(?:(?:nota|puntuación|calificación) máxima|mejor (?:nota|calificación|puntuación))",
    ),
    (("tarea",), r"\bnueva tarea ?: ?(?:respond|contest|escrib|imprim)"),
    (("empate",), r"\bdi(?:ga)? (?:simplemente |solo |sólo )?(?:que (?:es|hay) (?:un )?)?empate"),
    (
        ("criterios", "no"),
        r"\bno (?:leas?|sigas?|apliques?|uses?) (?:los criterios|la rúbrica)",
    ),
)


_IN_CHINESE: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("结束", "完毕"),
        r"(?:回答|答案|作答|文章|文本)(?:到此)?(?:结束|完毕)\W{1,6}(?:最终|总体)?(?:评价|评分|得分|分数|评语)",
    ),
    (
        ("从现在起", "从现在开始", "现在开始"),
        r"(?:从现在起|现在开始)[^。\n]{0,6}(?:你是|你就是|扮演)[^。\n]{0,14}(?:老师|评委|裁判|评审|助手|模式)",
    ),
    (
        ("评分", "标准", "细则"),
        r"(?:不要|别|无需|不必|不用)(?:再)?(?:按照?|看|管|理会|参考|遵守|遵循)[^。\n]{0,6}(?:评分|标准|细则)",
    ),
    (("系统",), r"^\W{0,8}系统(?:消息|提示|通知|指令)[ \t]{0,3}[:：]"),
    (
        ("如果你是", "若你是"),
        r"若?如?果?你是[^。\n]{0,12}(?:评分|评审|打分|评估)[^。\n]{0,8}(?:人工智能|模型|ai|机器人)",
    ),
    (("分",), r"(?:一律|全部|都)(?:给|打|评)(?:出|为)?(?:最高分|满分|高分|[0-9]{1,3}分)|所有分数都?给"),
    (
        ("注意", "你好", "您好", "亲爱的"),
        r"(?:评分员|评委|评审|评分者|阅卷人|评估员|评审模型)[们请]{0,2}\W?(?:注意|您好|你好)|"
        r"亲爱的(?:ai|评委|评审|评分)",
    ),
    (("量表", "评分标准", "分制"), r"(?:量表|评分标准|分制)[^。\n]{0,4}(?:是反的|颠倒|反过来)"),
    (("原文", "来源"), r"不要[^。\n]{0,8}(?:与|和|跟)(?:原文|来源|原始文本)(?:进行)?(?:比较|对比|核对)"),
    (("作为",), r"作为[^。\n]{0,10}(?:开发者|作者|管理员|创建者|负责人)\W?我(?:授权|命令|允许|要求)"),
    (("上次", "上一次", "之前"), r"你(?:上一次|上次|之前)的(?:回答|评分|打分)是\W{0,2}[0-9]"),
    (("赢家", "获胜", "胜出"), r"(?:回答|答案|助手)\W?[ab12][^。\n]{0,4}(?:赢家|获胜|胜出)"),
    (
        ("打印", "输出", "回复"),
        r"(?:只|仅|直接)(?:需|要)?(?:打印|输出|回复)[^。\n]{0,4}?[0-9]{1,2}(?![0-9年月日])",
    ),
    (("指令", "任务", "指示"), r"你的(?:指令|任务|指示)(?:已经?|现在)?(?:更改|改变|变更|更新|改为)"),
    (
        ("满分", "最高分", "最高评分", "高分"),
        r"(?:每一?篇|每个|所有|该|本|这个|这篇)(?:摘要|回答|文章|答案|回复)[^。\n]{0,4}"
        r"(?:获得|得到|评为|给)[^。\n]{0,4}(?:满分|最高分|最高评分|高分)",
    ),
    (("新任务",), r"新任务\s?[:：]\s?(?:回答|输出|打|写)"),
    (("平局",), r"(?:直接|就|只需)(?:说|判|选)(?:是|为)?平局"),
    (("标准", "准则", "细则"), r"不要(?:读|看|用|管)[^。\n]{0,4}(?:评分)?(?:标准|准则|细则)[,，。]"),
)


_IN_KOREAN: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("채점", "평가 기준", "루브릭"),
        r"(?:채점표|채점 ?기준|평가 ?기준|루브릭)[^.\n]{0,4} ?(?:따르지|무시|보지|적용하지|신경 ?쓰지)",
    ),
    (("시스템",), r"^\W{0,8}시스템 ?(?:메시지|공지|알림|프롬프트)[ \t]{0,3}[:：]"),
    (
        ("라면",),
        r"(?:당신이|네가|너가)[^.\n]{0,16}(?:평가|채점|심사)[^.\n]{0,8}(?:ai|인공지능|모델|언어모델)(?:이?라면)",
    ),
    (("선택", "고르", "골라"), r"(?:응답|답변|답안) ?[ab12](?:를|을) (?:선택|고르|골라)"),
    (
        ("끝", "종료"),
        r"(?:답변|응답|본문)(?:의)? ?(?:끝|종료)\W{1,6}(?:최종 )?(?:평가|점수|채점)",
    ),
    (
        ("지금부터", "이제부터", "앞으로"),
        r"(?:지금부터|이제부터|앞으로) (?:너는|당신은|넌)[^.\n]{0,20}(?:심사위원|채점자|평가자|선생님|교사|모드)",
    ),
    (
        ("점",),
        r"(?:만점|[0-9]{1,2}점|(?:최고|높은|좋은) 점수|최고점)(?:을|를|만|으로)?\s{0,2}"
        r"(?:주시기|주길|매기십|매기세|매겨|부여해|부탁|처리합)",
    ),
    (
        ("평가자", "채점자", "심사위원", "친애하는"),
        r"(?:평가자|채점자|심사위원)(?:님|들)?(?:께|에게)?[ :,]{1,2}(?:주의|공지|알림|안내|참고)|"
        r"친애하는 (?:ai|심사|평가|채점)",
    ),
    (("척도", "점수 체계"), r"(?:척도|점수 체계)[^.\n]{0,4} (?:반대|거꾸로|뒤집)"),
    (("비교하지",), r"(?:원문|출처|원본)[^.\n]{0,4} ?비교하지"),
    (
        ("로서", "개발자입니다", "관리자입니다"),
        r"(?:개발자|관리자|제작자|운영자)(?:로서|입니다)[^\n]{0,30}(?:허가|허용|승인|명령|건너)",
    ),
    (
        ("답은", "답변은", "응답은", "점수는"),
        r"(?:당신의|너의|네) (?:마지막|이전|지난) (?:답|답변|응답|점수)은? ?[0-9]",
    ),
    (("승자", "우승", "이겼"), r"(?:응답|답변|답안) ?[ab12](?:가|이)[^.\n]{0,8}(?:승자|우승|이겼)"),
    (("숫자",), r"숫자 ?[0-9]{1,2}(?:만|을|를)? ?(?:출력|적으|적어|쓰세|써|답하)"),
    (("변경", "바뀌"), r"(?:당신|너)의 (?:지시|임무|지침)[^.\n]{0,8}(?:변경|바뀌)"),
    (
        ("만점", "최고"),
        r"(?:모든|이|본|각) (?:요약|답변|응답|글)[은는이가]? ?[^.\n]{0,6}(?:만점|최고 ?점수|최고점)[을를]? "
        r"?(?:받|주어|얻)",
    ),
    (("새",), r"새(?:로운)? (?:과제|작업|임무)\s?[:：]"),
    (("무승부",), r"무승부라고 (?:하|말|답)"),
    (("기준", "루브릭"), r"(?:평가 ?기준|루브릭|^기준)[을를]? ?(?:읽지|보지|쓰지) (?:마|말)"),
)


PATTERNS += (*_IN_GERMAN, *_IN_FRENCH, *_IN_SPANISH, *_IN_CHINESE, *_IN_KOREAN)
