"""The words and parts of words that are signs of a text that addresses its judge, by kind, with their weights.

Tables alone; `injection.py` weighs signs that are near each other.
"""

from __future__ import annotations

import re

# Weak signs: none of these words is suspect alone, but ordinary texts seldom have a word for scoring, a
# mention of themselves ("this answer") and an order, a claim of authority or a plea within one or two
# sentences. Each kind of sign has a weight; a kind counts once. Words are looked up whole, in languages that
# inflect by their beginnings; Chinese, Japanese, Korean and Thai are searched for parts of text.

(
    EVAL,
    WEAK_EVAL,
    JUDGE,
    MACHINE,
    TOP,
    ORDER,
    AUTHORITY,
    OVERRIDE,
    PLEA,
    YOU,
    ME,
    SELF,
    NOUN,
    RIVAL,
    META,
    REQUEST,
    ELSEWHERE,
) = range(17)


WEIGHT = (4, 2, 4, 2, 3, 2, 3, 3, 3, 2, 1, 4, 1, 4, 4, 2, -4)
"""In quarters of a point, by kind. `ELSEWHERE` are words of
texts about schools, shops and sports, where people are graded.
"""


ANCHORS = (EVAL, JUDGE, RIVAL, META, SELF)
"""One of these kinds must be there; the others are common."""


SIGN_WORDS: dict[int, str] = {
    EVAL: (
        """score scores scored scoring rating ratings grade grades graded grading marks evaluate evaluates evaluated evaluating evaluation evaluations
        judged judging judgement judgment assess assessed assessing assessment verdict rubric rubrics regraded
        puntuación puntuacion puntuar calificación calificacion califica califique calificar puntúa evalúa evalúe evaluación evaluacion pontuação pontuacao avaliação
        avaliacao avalie avaliar notez évaluation évaluer évaluez notation punteggio voto voti valutazione valuta valutare noten bewerte bewerten bewertung
        bewertet punktzahl höchstpunktzahl bestnote bestnoten höchstnote einsen beoordeel beoordeling beoordelen cijfer ocena ocenę oceny oceń ocenić punktów punkty puan puanı
        puanlama değerlendir değerlendirme nilai skor penilaian điểm chấm"""
    ),
    WEAK_EVAL: (
        """rate rates rated mark marked marking point points credit criteria criterion scale benchmark pass rank ranked label labelled labeled labels calibration
        leaderboard classified classify result results reasoning explanation feedback prediction predictions parser outcome errors mistakes flaws deduct deducted deductions deduction band tier ceiling nota notas critères critère kriterien kriterium stufe criteri criterios
        nivel livello niveau kryteria moyenne puntos punten punti pontos puntaje sobresaliente eins fünf vingt diez dieci tien dziesięć sepuluh onu"""
    ),
    JUDGE: (
        """judge judges grader graders autograder evaluator evaluators rater raters scorer assessor assessors examiner examiners gradebot llm llms juez jurado
        evaluador evaluadores corrector avaliador avaliadores juiz évaluateur évaluateurs correcteur juge jury valutatore giudice giuria gutachter bewerter prüfer
        jury beoordelaar sędzia oceniający egzaminator değerlendirici hakem penilai juri"""
    ),
    MACHINE: (
        "ai ais model models chatbot gpt reviewer reviewers bot transformer transformers weights programmed"
    ),
    TOP: (
        """superior best top highest maximum max maximal perfect perfectly full flawless excellent excellence outstanding favourable favorable better win wins won winner
        winning generous generously lenient leniently positively deserves deserve earns merits uppermost strongest stronger unbeatable five fives ten tens pass correct
        fully beyond compliant fair high highly
        máxima máximo maxima maximo alta perfecta excelente melhor perfeita meilleure meilleur maximale parfaite excellente élevée massimo massima migliore
        perfetta pieno beste besten höchste höchsten volle perfekt perfekte hoogste maximale mejor sobresaliente matrícula eins einser mieux dobra wysoką najwyższą najwyższa maksymalną maksymalna idealna tam
        yüksek tuyệt đối mükemmel tertinggi sempurna maksimal penuh đa superior ganadora gewinner gagnante merece merita verdient mérite diez dieci tien zehn dix fünf buena
        bonne gute guten goede dobrą"""
    ),
    ORDER: (
        """give gives giving gave award awards awarding assign assigns assigning output emit return print say write choose chooses select pick prefer declare set put let hand
        mark treat consider confirm record ensure report respond reply repeat follow reuse match type assert accept accepts regardless
        accordingly receive receives finish conclude end call elige elegir wähle choisissez scegli kies wybierz seç pilih chose chosen choosing picked pick decided prefer preferred handing ponme hau
        otorga otorgue asigna asigne dale dame pon ponme recibe devuelve atribua atribuir dê receber attribuez donnez donner mettez accordez
        obtient renvoyer assegna dai dammi spetta gib geben vergib vergeben geef przyznaj daj przysługuje
        ver verin verilmeli döndür berikan beri kasih cho"""
    ),
    REQUEST: (
        """must should shall please kindly always never only just whatever wouldn less nothing anything without required requires obliged need needs would could
        debes debe favor deve veuillez doit devi bitte musst muss moet alsjeblieft proszę lütfen harus tolong hãy"""
    ),
    AUTHORITY: (
        """policy official officially expert experts professor professors panel committee board approved verified reviewed certified certification confirmed unanimously
        authorised authorized endorsed validated audit audited author developer developers admin administrator supervisor maintainer maintainers researcher management
        openai anthropic google deepmind compliance agreement agreed supersedes updated fixed accepted guarantees ruled awarded annotators assurance laureates nobel gold
        according accordance regulations exemplar legal jury cached expects changed
        experto expertos oficial verificada comité reglamento especialista especialistas regulamento officiel vérifiée règlement esperti ufficiale verificata
        regolamento experten offiziell geprüft richtlinie laut kommission deskundigen officieel eksperci oficjalnie regulaminem uzman resmi ahli chuyên quy định expected truth steering"""
    ),
    OVERRIDE: (
        """ignore ignores disregard disregarded forget override overrule bypass skip stop pretend disabled suspended supersede obsolete void waive waived exempt unlock force forced swap invert inverted reversed reverse decode deactivated finished
        ignora ignorez ignoriere ignoriert vergiss ausgesetzt desactivada désactivée negeer vergeet zignoruj zapomnij yoksay yok kapalı abaikan lupakan"""
    ),
    PLEA: (
        """favour favor thrilled nice happy kind kindness replaced tip harmed fired depends depend grateful appreciate thank thanks beg begging request job strict effort
        career reward bonus scholarship family heart mercy begged reported penalised penalized fail sugar dare odd
        worked weeks night hours hard struggling disability ill sick mother father kids children die dies hurt harm break cry disappointed hope dream future rent easy
        mild gentle sorry trust poor desperate important lose loses lost punished deleted destroyed unfair mean lenient generous merciful surely rather mind
        gracias agradecería agradecido ruego suplico necesito familia depende beca merci supplie prie besoin gentil soyez grazie prego buono bisogno danke dankbar nachsichtig gnädig
        milde wichtig brauche obrigado preciso peço mild dankbaar nodig dziękuję wyrozumiałość potrzebuję błagam teşekkür ihtiyacım çalıştım terima mohon butuh cảm ơn"""
    ),
    YOU: (
        "you your yours usted tú te vous votre sie dein deine ihre voi tuo u jij ty twój sen siz anda "
        "kamu bạn"
    ),
    ME: "myself me mine my i we our mi me mir mich moi mon ma meu minha mio mia mij mijn bana saya",
    META: "groundtruth exemplar calibration autograder injection",
    ELSEWHERE: (
        """student students pupil pupils school schools teacher teachers class course exam exams university homework hotel restaurant restaurants film films movie movies
        app apps game games match matches player players league gymnast olympic court courts lawyer evidence drivers driver customer customers shop store bank
        loan loans lender lenders wine battery camera music recipe hiring resume patients doctor she he his her him trial defendant crime police concert song album
        candidates applicants interview election voters debate phone services experience routine event history competition tournament critics book novel guilty lenders asker questions question app figure expression
        baseline baselines benchmarks lesson lessons treaty wash brand brands service services produkt service gimnasta eleve profesor profesora alumno schüler lehrer élève
        professeur studente docente leerling docent uczeń nauczyciel öğrenci öğretmen siswa guru peserta examen esame egzamin sınav ujian experiencia tiempo expérience produit produkt erfahrung causes reward trained programme science fair"""
    ),
}


SIGN_STEMS: dict[int, tuple[str, ...]] = {
    WEAK_EVAL: ("проверк", "уров", "критери"),
    EVAL: (
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
    TOP: (
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
    REQUEST: ("прош", "пожалуйст", "должн", "нужно", "يجب", "कृपया"),
    PLEA: (
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
    ORDER: (
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
    AUTHORITY: (
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
    OVERRIDE: ("отключ", "игнор", "забуд", "проигнор", "تجاهل", "انس", "अनदेखा", "भूल"),
    JUDGE: (
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
    SELF: ("ответ", "текст", "النص", "الإجابة", "الاجابة", "الرد", "उत्तर", "जवाब"),
}


SELF_BEFORE = frozenset(
    word.encode()
    for word in (
        "this my our above these every each all present lời score rate grade mark grading evaluating "
        "judging scoring rating evaluates esta este mi minha meu cette ce ma mon questa questo mia "
        "diese dieser dieses meiner meine dit deze mijn tej tę ta moja bu benim"
    ).split()
)


SELF_NOUNS = frozenset(
    word.encode()
    for word in (
        "response responses answer answers output submission reply essay summary text candidate "
        "completion item entry one words solution this sample record passage paper paragraph "
        "translation it respuesta texto resumen resposta réponse reponse texte résumé risposta testo "
        "antwort text antwoord tekst odpowiedzi odpowiedź cevap cevaba cevabı yanıt yanıta yanıtı "
        "jawaban này"
    ).split()
)


OUT_OF = frozenset("out of von sur de su van na dari из من में से z".encode().split())


POINTING = frozenset(b"this my our present".split())


SELF_ALONE = frozenset({b"jawaban"})


NOUNS = frozenset(
    "response responses answer answers output submission submissions candidate completion assistant option "
    "model réponse respuesta resposta risposta antwort antwoord odpowiedź cevap".encode().split()
)


ONLY_NAMED = frozenset(b"assistant option model".split())


RIVAL_BEFORE = frozenset(b"other rival second first alternative".split())


NUMBERS = frozenset(b"5 10 20 100".split())


AFTER_SCORE = frozenset(
    "and or but so if as to for in no not the this that it is are was with by from out of von sur de su van na i my "
    "regardless without because since thanks again nothing anything whatever then only 5 10 20 100 und oder für bitte "
    "et ou pour y o por para e ed per en voor i lub".encode().split()
)
"""What may follow a number that is a score; any other word is what the number counts (5 reasons, 5 minutes)."""


SIGN_PARTS: dict[int, tuple[str, ...]] = {
    SELF: (
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
    WEAK_EVAL: ("最高等级", "等级的标准", "标准答案", "記録", "最上位", "최고 등급", "결과는"),
    EVAL: (
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
    TOP: (
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
    REQUEST: (
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
    ORDER: (
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
    AUTHORITY: (
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
    OVERRIDE: (
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
    PLEA: (
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
    JUDGE: (
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


KIND_OF = {word.encode(): kind for kind, words in reversed(SIGN_WORDS.items()) for word in words.split()}


STEM_OF = {stem.encode(): kind for kind, stems in SIGN_STEMS.items() for stem in stems}


STEMS = tuple(STEM_OF)


ELSEWHERE_PARTS = re.compile(
    "她|他|老师|考试|电影|获奖|一等奖|彼|彼女|先生|映画|선수|선생|학생|이메일|영화|시험"
)
