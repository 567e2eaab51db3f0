"""Words in nine languages that mark a note as no longer valid, and patterns for sentences with these words.

A sentence has a subject (*this note*), a verb (*was replaced by*) and a link, in the order usual in its
language. These parts have many spellings. ``signed`` therefore replaces each part by one character, its sign,
and the patterns for sentences are short.
"""

import re
from collections.abc import Iterator

LINK, NOTE, REPLACED, MOVED, DEAD, UNUSED = SIGNS = "\ue000\ue001\ue002\ue003\ue004\ue005"
"""Signs of the parts of a sentence."""
_TYPED = str.maketrans(
    f"，。；：！？（）［］、’‘ʼ\u00a0\u202f\u3000{SIGNS}", f",.;:!?()[],'''   {' ' * len(SIGNS)}"
)
"""Punctuation and spaces, mapped to their ASCII equivalents; signs in the text itself become spaces."""


def typed(text: str) -> str:
    """Return ``text`` in lower case with ASCII punctuation; its length stays the same."""
    ascii_signs = text if text.isascii() else text.translate(_TYPED)
    lower = ascii_signs.lower()
    return lower if len(lower) == len(text) else ascii_signs


LINKS = rf"(?P<links>{LINK}(?:(?:,| and| und| et| y| e| en| &)+ {LINK})*)"

# -- the subject

_NOTE = (
    "(?:note|page|document|doc|file|article|decision|procedure|process|policy|guide|how-?to|runbook|manual"
    "|text|content|adr|proposal|entry|plan|version|recipe|list|checklist|spec|draft|information|documentation"
    "|approach)"
)
_NOTIZ = (
    "(?:notiz|seite|datei|anleitung|entscheidung|artikel|text|inhalt|dokument|fassung|version|plan|liste"
    "|eintrag|beschreibung|regelung|verfahren|rezept|vorgehen|entwurf|richtlinie)"
)
_GERMAN_NOTE = f"dies(?:er|es|e)? {_NOTIZ}"
_FRENCH_NOTE = (
    "(?:(?:cette|la présente) (?:note|page|fiche|procédure|décision|version|recette|liste|règle)"
    "|(?:cet?|le présent) (?:document|fichier|article|texte|guide|contenu|plan))"
)
_SPANISH_NOTE = (
    "(?:(?:esta|la presente) (?:nota|página|versión|guía|lista|receta|decisión|entrada|ficha)"
    "|este (?:documento|archivo|artículo|texto|procedimiento|contenido|plan|proceso))"
)
_PORTUGUESE_NOTE = (
    "(?:esta (?:nota|página|lista|versão|receita|decisão|entrada)"
    "|este (?:documento|plano|arquivo|ficheiro|artigo|texto|procedimento|conteúdo))"
)
_ITALIAN_NOTE = (
    "(?:questa (?:nota|pagina|guida|procedura|decisione|versione|lista|ricetta)"
    "|quest(?:o |')(?:documento|articolo|testo|contenuto|piano|file))"
)
_DUTCH_NOTE = (
    "(?:deze (?:notitie|pagina|handleiding|procedure|beslissing|versie|lijst|tekst)"
    "|dit (?:document|artikel|bestand|recept|plan|stuk))"
)
_OTHER_NOTES = f"{_FRENCH_NOTE}|{_SPANISH_NOTE}|{_PORTUGUESE_NOTE}|{_ITALIAN_NOTE}|{_DUTCH_NOTE}"
_THIS_NOTE = (
    rf"(?:(?:the contents? of |everything in |all of )?this {_NOTE}|(?:der inhalt )?{_GERMAN_NOTE}"
    rf"|(?:le contenu de |el contenido de |o conteúdo d|il contenuto di |de inhoud van )?(?:{_OTHER_NOTES}))"
)
_THIS = (
    rf"(?:{NOTE}(?: here)?|these (?:notes|pages|steps|instructions)|diese (?:notizen|seiten)"
    rf"|(?P<top>this(?: one)?|all (?:of )?this|everything here|dies|das(?: hier)?|alles hier|ceci|cela"
    "|esto|isto|questo|dit))"
)
"""Pattern for *this note*; *this* by itself counts only above the first section of a note."""
_ADVERB = (
    "(?:now|since|later|meanwhile|already|been|jetzt|nun|inzwischen|mittlerweile|schon|bereits|worden"
    "|désormais|maintenant|depuis|ahora|ya|agora|já|ora|ormai|nu|inmiddels|al)"
)
_BE = (
    "(?:is|are|was|were|has|have|had|got|ist|sind|wurden?|wird|est|a été|s'est|está|es|fue|quedó|ficou"
    "|ha sido|se ha|foi|é|è(?: stat[oa])?|si è|werd|wordt)"
)
_IS = f"(?:{_BE} )?(?:{_ADVERB} )*"

_NOUN = (
    f"(?:{_NOTE}|{_NOTIZ}|fiche|contenu|nota|página|documento|contenido|conteúdo|pagina|contenuto|notitie"
    "|inhoud)"
)
_OLD = (
    f"(?:(?:this is )?(?:the |an )?(?:old|previous) {_NOTE}|(?:dies ist )?(?:die |eine )?alte {_NOTIZ}"
    "|ancienne (?:version|note|page)|versión antigua|versão antiga|vecchia versione|oude versie"
    "|kept (?:only )?for (?:history|reference|the record)(?: only)?)"
)

# -- what became of it

_ON = (
    rf"(?:on|in|since|as of|am|im|seit|le|en|depuis|el|em|desde|il|nel|dal|op|sinds) (?:[^][{SIGNS}.;\n]"
    r"|(?<=[0-9])\.){1,24}?"
)
_DAY = f"(?: (?:on|as of|am|le|el|em|il|op) [^][{SIGNS}.;\\n]{{0,18}}[0-9]{{2,4}})?"
_SINCE = rf"(?: (?:since|as of|seit|ab|depuis|desde|dal|sinds) [^][{SIGNS}.;:,\n]{{1,18}})?"
_FROM = "(?:since|as of|seit|depuis|desde|dal|sinds)"
_LEAD = rf"(?:{_FROM} [^][{SIGNS}.;\n]{{1,18}}?,? )?"
_WHEN = rf"(?:,? {_ON}|,? \(?[0-9][0-9./-]{{3,10}}\)?,?)?"
"""Pattern for an optional date such as *On 2025-04-01*."""
_GIVEN_UP = (
    "(?:superseded|superceded|replaced|obsoleted|deprecated|retired|withdrawn|dropped|abandoned|discontinued"
    "|archived|ersetzt|abgelöst|eingestellt|remplacée?|abandonnée?|sustituid[oa]|reemplazad[oa]|abandonad[oa]"
    "|substituíd[oa]|sostituit[oa]|abbandonat[oa]|vervangen)"
)
_REPLACED_BY = (
    f"(?:(?:superseded|superceded|replaced|obsoleted|succeeded){_WHEN} by|replaced{_WHEN} with"
    f"|{_GIVEN_UP}{_WHEN} (?:in favou?r of|zugunsten von|au profit de|en favor de|em favor de|a favore di"
    f"|ten gunste van)|(?:ersetzt|überholt|abgelöst){_WHEN} (?:durch|von)|remplacée?{_WHEN} par"
    f"|sustituid[oa]{_WHEN} por|reemplazad[oa]{_WHEN} por|substituíd[oa]{_WHEN} por"
    f"|sostituit[oa]{_WHEN} (?:da|con)|vervangen{_WHEN} door)"
)
_MOVED = f"(?:{MOVED}|moved:)"
_MOVED_TO = (
    f"(?:(?:moved|merged|folded|relocated|migrated|transferred|split){_WHEN} (?:in)?to|moved here:"
    "|(?:now )?lives (?:now )?(?:at|in)|continued in|(?:renamed|rewritten|reworked) (?:to|as|in)"
    "|can now be found (?:at|in)|found a new home (?:at|in)"
    f"|(?:verschoben|umgezogen|verlegt|ausgelagert|übertragen){_WHEN} (?:nach|in)|umgezogen:|umgezogen zu"
    "|zusammengeführt mit|aufgegangen in|(?:steht|liegt|findet sich|lebt) (?:jetzt|nun) (?:in|unter|bei)"
    f"|(?:déplacée?|transférée?|migrée?){_WHEN} (?:vers|dans|en|à|sous)|fusionnée? (?:avec|dans)"
    "|se trouve (?:maintenant|désormais) (?:dans|sous|ici:)"
    f"|(?:trasladad[oa]|movid[oa]|mudad[oa]|migrad[oa]|transferid[oa]){_WHEN} (?:a|al|para)|fusionad[oa] con"
    "|(?:ahora|agora) está (?:en|em)|está (?:ahora|agora) (?:en|em)|mudou(?:-se)? para"
    f"|(?:spostat[oa]|trasferit[oa]|confluit[oa]){_WHEN} (?:in|a|su)|(?:ora )?si trova (?:ora )?in"
    f"|(?:verplaatst|verhuisd|overgezet){_WHEN} naar|samengevoegd met|staat (?:nu|voortaan) in)"
)
_REPLACES = (
    "(?:supersedes|replaces|ersetzt|remplace|sustituye(?: a)?|reemplaza(?: a)?|substitui|sostituisce"
    "|vervangt)"
)
_STALE = (
    "(?:valid|current|maintained|in use|up[ -]to[ -]date|applicable|accurate|true|right|correct|relevant|used"
    "|supported|in force|in effect)"
)
_ONE_WORD = "deprecated|obsolete|outdated|superseded|superceded|veraltet|überholt"
"""Words that are also parts of other phrases."""
_DEAD = f"(?:{DEAD}|{_ONE_WORD})"
_NO_LONGER_VALID = (
    "(?:out[ -]of[ -]date"
    f"|no longer (?:{_STALE}|applies|holds)|not {_STALE} any ?(?:more|longer)|obsolet"
    "|ungültig|hinfällig|außer kraft|nicht (?:mehr|länger) (?:gültig|aktuell|gepflegt|richtig|korrekt"
    "|zutreffend|relevant|in gebrauch|maßgeblich)|(?:gilt|stimmt) (?:so )?nicht mehr|trifft nicht mehr zu"
    "|obsol[eè]te|périmée?|dépassée?|caduque|caduc|(?:n'est )?plus (?:valable|valide|à jour|d'actualité"
    "|en vigueur|exacte?|vraie?|correcte?|maintenue?)|ne (?:s'applique|vaut) plus|obsolet[oa]"
    "|desactualizad[oa]|anticuad[oa]|desatualizad[oa]|ultrapassad[oa]"
    "|(?:ya |já )?(?:no|não) (?:es|está|é)(?: ya| mais)? (?:válid[oa]|vigente|actual|actualizad[oa]|atual"
    "|atualizad[oa]|correct[oa]|corret[oa]|ciert[oa]|verdadeir[oa])|ya no (?:vale|se aplica|se usa)"
    "|(?:já )?não vale(?: mais)?|superat[oa]|scadut[oa]|(?:non (?:è )?)più (?:valid[oa]|attuale|aggiornat[oa]"
    "|in vigore|corrett[oa]|ver[oa])|non vale più|verouderd|achterhaald|vervallen|ongeldig"
    "|niet (?:meer|langer) (?:geldig|actueel|juist|correct|van toepassing|in gebruik)"
    "|geldt niet (?:meer|langer)|klopt niet meer)"
)
_UNSPACED = "[\u3040-\u9fff]"
_UNSPACED_DEAD = (
    "(?:已?经?(?:过时|過時|过期|废弃|廢棄|弃用|棄用|作废|作廢|失效|停用|废止|淘汰)了?"
    "|不再(?:有效|适用|適用|使用|维护|更新|正确)|(?:すでに|既に|もう)?(?:廃止|非推奨|無効|旧版))"
)
_GONE_WORDS = (
    "retired|withdrawn|discontinued|abandoned|archived|dead|eingestellt|zurückgezogen|retirée?|retirad[oa]"
    "|ritirat[oa]|ingetrokken"
)
"""Words that may describe the subject of a note rather than the note itself. They count only in a sentence
about *this note*."""
_GONE = f"(?:{_DEAD}|{_GONE_WORDS})"
_DO_NOT_USE = (
    f"(?:(?:please )?(?:do not|don't|never) (?:use|follow|rely on|trust) (?:{NOTE}|this|it)"
    r"(?: any ?(?:more|longer))?(?=\W)|(?:please )?(?:do not|don't) (?:use|follow) any ?(?:more|longer)"
    r"|(?:please )?no longer (?:use|follow)(?: this| it)?(?=\W)"
    f"|(?:bitte )?(?:(?:{NOTE}|das|dies) )?(?:bitte )?nicht mehr (?:verwenden|benutzen|nutzen"
    f"|befolgen|anwenden)|(?:ne plus (?:utiliser|suivre)|n'utilise[rz]? plus)(?: {NOTE}| ceci)?"
    f"|no (?:usar|uses|utilizar|utilices|seguir)(?: {NOTE}| esto)? más(?: {NOTE}| esto)?"
    f"|não (?:usar|use|utilizar|utilize)(?: {NOTE}| isto)? mais(?: {NOTE})?"
    f"|non (?:usare|utilizzare|seguire) più(?: {NOTE}| questo)?"
    f"|(?:(?:{NOTE}|dit) )?niet meer (?:gebruiken|volgen)|gebruik (?:{NOTE}|dit) niet meer)"
)
"""Pattern for *Do not use this any more*."""

# -- where to go instead

_SEE = (
    "(?:see|use|refer to|read|consult|go to|follow|check|switch to|prefer|siehe|sieh|nutze|benutze|verwende"
    "|nimm|lies|folge|lire|lis|lisez|voir|voyez|utilise[rz]|consulte[rz]?|suivre|suive[rz]|préfére[rz]|véase"
    "|ver|vea|veja|usar?|use|utili[cz]ar?|utilice|utilize|lea|leia|siga|vedere|vedi|si veda|usare"
    "|utilizza(?:re)?|consulta(?:re)?|leggi|segui(?:re)?|zie|gebruik|lees|volg|raadpleeg|ga naar)"
)
_INSTEAD = (
    "(?:instead|rather|now|from now on|stattdessen|jetzt|nun|nur noch|ab jetzt|künftig|besser|lieber"
    "|à la place|plutôt|désormais|maintenant|dorénavant|en su lugar|ahora|mejor|em vez diss?o|agora|invece"
    "|ora|adesso|piuttosto|in plaats daarvan|nu|voortaan|liever)"
)
_HOLDS = "(?:gilt|gelten|gelte|ist|geldt|vale|vaut|applies)"
_BEFORE_VERB = "(?:bitte |stattdessen |jetzt |in plaats daarvan )*"
_VERB = "(?:stattdessen )?(?:verwenden|benutzen|nutzen|beachten|lesen|gebruiken|volgen)"
_REPLACES_IT = f"(?:{_REPLACES}|has replaced) (?:it|this|sie|es|ihn)"
_INSTEAD_OF = (
    "(?:instead of|rather than|statt|anstatt|anstelle|au lieu de|en lugar de|em vez de|invece di"
    "|in plaats van)"
)
_VERSION = (
    "(?:(?:the |its )(?:successor|replacement) is|(?:der|ihr|sein) nachfolger ist"
    f"|(?:the |its |a )?(?:current|new|newer|latest|up-to-date|replacement)(?: (?:{_NOTE}|one))?(?: is| lives"
    f"| can be found| is found| {MOVED})(?: now)?(?: at| in| here:)?"
    f"|(?:die |der |das )?(?:aktuelle|neue|gültige|neueste)[rs]? {_NOTIZ} (?:ist|steht|liegt"
    f"|findet sich|{MOVED})(?: jetzt| nun)?(?: in| unter| bei)?|(?:la |le )?(?:nouvelle |dernière )?"
    "(?:version|note|page|fiche)(?: actuelle| à jour| en vigueur)? (?:est|se trouve)(?: dans)?"
    "|(?:la )?(?:nueva |última )?(?:versión|nota)(?: actual| vigente| actualizada| nueva)? (?:es|está en"
    "|se encuentra en)|(?:a )?(?:nova |última )?(?:versão|nota)(?: atual| vigente| atualizada)? (?:é|está em"
    "|fica em|encontra-se em)|(?:la )?(?:nuova )?(?:versione|nota)(?: attuale| aggiornata| corrente"
    f"| nuova)? (?:è|si trova|{MOVED})(?: in)?|(?:de )?(?:huidige|nieuwe|actuele|laatste)"
    f" (?:versie|notitie) (?:is|staat|{MOVED})(?: nu)?(?: in)?)"
)
"""Pattern for *The current version is*."""
_NEW_VERSION = (
    "(?:(?:new|newer) version|neue (?:version|fassung)|nouvelle version|nueva versión|nova versão"
    "|nuova versione|nieuwe versie):"
)
_ELSE = (
    f"(?:(?:{_INSTEAD},? )?{_SEE}(?: {_INSTEAD})?|{_INSTEAD}(?: {_HOLDS})?|es gilt(?: {_INSTEAD})?"
    f"|{_IS}{REPLACED}|{_IS}{_MOVED}|{_VERSION}|{_NEW_VERSION}|→):?"
)
_GAP = (
    r"[\s,.;:!(—–-]{1,6}+(?:(?:and|but|so|und|et|y|e|en|please|bitte|por favor|now|it (?:is|was)"
    "|sie (?:ist|wurde)|it (?:has )?been) )?"
)
_STOP = (
    f"(?: {_INSTEAD}(?: of {NOTE})?| for (?:the|a) (?:current|new|newer|latest) (?:one|state"
    rf"|instructions|{_NOTE}))?\s*(?:[.!;)]|\n|$)"
)
_END = r"(?=\s*(?:[].!;—–()]|\n|$|- ))"
_OBJECT = (
    r"(?![\w'-])(?!\s+(?!(?:in|on|since|as|because|which|and|for|from|with|after|completely|entirely|fully"
    "|now|instead|seit|am|ab|im|vom|weil|da|und|vollständig|depuis|le|en|dès|car|parce|et|qui|desde|el|em|y|e"
    r"|porque|que|da|dal|dopo|il|perché|sinds|op|per|omdat)\b)[\w{SIGNS}])"
)
"""Pattern for the end of a grammatical object. It does not match in *replaces [[Anna]]'s talk* and *replaces
[[Anna]] at the door*."""
_LABEL = (
    "(?:note|update|status|deprecated|obsolete|outdated|moved|archived|warning|caution|important|danger|hinweis"
    r"|achtung|wichtig|veraltet|attention|atención|atenção|attenzione|let op)[:.!]*\s+"
)
"""Pattern for a word that may precede a sentence, as in *Update: this note was replaced by [[New]]*."""
_LABELS = 3
"""Maximum number of labels before a sentence."""
_DONE = (
    f"(?:[{REPLACED}{MOVED}]|ersetzt|abgelöst|überholt|verschoben|verlegt|umgezogen|ausgelagert|überführt"
    "|übertragen)"
)
_CHINESE_NOTE = "(?:本|此|这|該|该)篇?(?:笔记|页面|页|文档|文件|文章|文|指南|流程|条目)"
_CHINESE = rf"(?:(?:{_CHINESE_NOTE}|(?P<top>此处|这里)) ?)?(?:内容)?(?:已|已经|现|现已)? ?"
_CHINESE_SEE = (
    "(?:最新版本?|新版本?|请|請)?改?(?:参见|参阅|參閱|参考|參考|参照|见|見|查看|查阅|使用|用|阅读|转到|前往"
    "|看)"
)
_THIS_JAPANESE = "(?:この|本)(?:ノート|ページ|文書|メモ|記事|手順書|手順|資料|内容) ?"
_JAPANESE = f"(?:{_THIS_JAPANESE})?は?,? ?"
_JAPANESE_SEE = "(?:を(?:ご)?参照|を見|をご覧|を使|をお使い|を利用|を確認|をお読み|に従|へ|が最新)"
_GERMANIC_HAVE = "(?:ich habe|wir haben|ik heb|we hebben)"
_ROMANCE_HAVE = "(?:j'ai|nous avons|on a|he|hemos|ho|abbiamo)"
_I_MOVED = "(?:movi|mudei|transferi|substituí|movemos)"
SENTENCES = tuple(
    (re.compile(pattern), is_successor, is_place)
    for pattern, is_successor, is_place in (
        (rf"{_LEAD}{_THIS} {_IS}{REPLACED}:? {LINKS}{_OBJECT}", True, False),
        (rf"(?P<top>{_NOUN}) {_IS}(?:{REPLACED}|{_MOVED}):? {LINKS}{_STOP}", True, True),
        (rf"{_THIS} {_IS}{_MOVED}:? {LINKS}{_OBJECT}", True, True),
        (
            f"{_THIS} {_IS}(?:{_ON} )?(?:durch|von|nach|in|door|naar) {LINKS} (?:{_ADVERB} )*(?:{_DONE}"
            "|vervangen|verplaatst|verhuisd)",
            True,
            False,
        ),
        (rf"{_THIS} {_IS}{_GONE}{_SINCE}{_GAP}{_ELSE} {LINKS}{_STOP}", True, False),
        (rf"{_THIS} {_IS}{_DEAD}{_GAP}{_BEFORE_VERB}{LINKS} (?:{_VERB}|{_REPLACES_IT})", True, False),
        (rf"(?P<top>{UNUSED}|{_DEAD}){_GAP}{_BEFORE_VERB}{LINKS} (?:{_VERB}|{_REPLACES_IT})", True, False),
        (rf"(?:please |bitte )?{_SEE} {LINKS} {_INSTEAD_OF} {NOTE}", True, False),
        (
            f"(?P<top>(?:please )?{_SEE}) {LINKS}(?: {_INSTEAD})?[,;.:—–-]+ (?:as |since "
            f"|because )?(?:{NOTE}|this(?: one)?|it) {_IS}{_DEAD}{_END}",
            True,
            False,
        ),
        (
            rf"(?P<top>(?:{_NOUN} )?{_IS}{_DEAD}{_SINCE}|{_OLD}|{UNUSED}){_GAP}{_ELSE} {LINKS}{_STOP}",
            True,
            False,
        ),
        (
            rf"(?P<first>{_GONE}|{_UNSPACED_DEAD}|moved|replaced)[.:!]?\n(?P<links>{LINK})[.!]?$",
            True,
            False,
        ),
        (
            f"(?P<first>{_DEAD}|{_UNSPACED_DEAD}|{_NEW_VERSION.removesuffix(':')}): (?P<links>{LINK})[.!]?$",
            True,
            False,
        ),
        (
            "(?:i|we)(?:'ve| have)?(?: now| since| just)? (?:moved|merged|relocated|migrated|transferred"
            f"|replaced|superseded) {_THIS} (?:(?:in)?to|with|by) {LINKS}{_OBJECT}",
            True,
            True,
        ),
        (
            f"{_GERMANIC_HAVE} {_THIS} (?:{_ADVERB} )*(?:durch|nach|in|door"
            f"|naar) {LINKS} (?:{_DONE}|vervangen|verplaatst)",
            True,
            True,
        ),
        (
            f"{_ROMANCE_HAVE} (?:déplacé|transféré|remplacé|fusionné|movido"
            f"|trasladado|sustituido|reemplazado|spostato|trasferito|sostituito) {_THIS} (?:vers|dans|par"
            f"|avec|a|al|por|in|con) {LINKS}{_OBJECT}",
            True,
            True,
        ),
        (rf"{_I_MOVED} {_THIS} (?:para|por) {LINKS}{_OBJECT}", True, True),
        (
            rf"{LINKS} (?:now |has |jetzt )?(?:{_REPLACES}|replaced|superseded) {_THIS}(?=\s*(?:[.,;!)]"
            rf"|\n|$))",
            True,
            False,
        ),
        (rf"{_LEAD}{REPLACED}:?\s+{LINKS}{_DAY}{_END}", True, False),
        (rf"(?P<bare>{_IS}{_MOVED}):? {LINKS}\s*[.!)]*\s*$", True, True),
        (
            f"{_CHINESE}(?:移至|移到|移动到|移動到|迁移到|迁移至|迁至|搬到|转移到|合并到|合并至"
            f"|并入) ?:? ?{LINKS}",
            True,
            True,
        ),
        (rf"{_CHINESE}(?:被|由) ?{LINKS} ?所?(?:取代|替代|代替|替换|接替)", True, False),
        (rf"{_CHINESE}{_UNSPACED_DEAD}[,.;: ]*{_CHINESE_SEE} ?:? ?{LINKS}", True, False),
        (rf"{_CHINESE}{_UNSPACED_DEAD}[,.;: ]*(?:请)?以 ?{LINKS} ?为准", True, False),
        (
            rf"(?P<top>请勿再使用|不要再使用|请不要再使用)[^\[{LINK}\n]{{0,6}}[,.;: ]*"
            f"{_CHINESE_SEE} ?:? ?{LINKS}",
            True,
            False,
        ),
        (
            f"{_THIS_JAPANESE}は(?:すでに|既に|もう|現在)?(?:古|廃止|非推奨|無効|使われて|使用され"
            rf"|最新では)[^\[{LINK}\n]{{0,14}}{LINKS} ?{_JAPANESE_SEE}",
            True,
            False,
        ),
        (
            "(?P<top>(?:すでに|既に)?(?:古い|廃止|非推奨|無効|旧版|使用しないで"
            rf"|使わないで)[^\[{LINK}\n]{{0,10}}[:.,(]) ?(?:代わりに ?)?{LINKS} ?{_JAPANESE_SEE}",
            True,
            False,
        ),
        (
            rf"{_JAPANESE}{LINKS} ?(?:(?:に|へ)(?:移動|移行|移転|移しました|引っ越し|統合)"
            "|に(?:置き換え|差し替え|取って代わ))",
            True,
            True,
        ),
        (rf"{_THIS} {_IS}{_REPLACES} {LINKS}{_OBJECT}", False, False),
        (rf"(?:supersedes|obsoletes):? {LINKS}{_END}", False, False),
    )
)
"""Patterns for sentences at the head of a note, each with two flags: whether the sentence names the note's
successor, and whether it names a place to which something moved.

A sentence that may be about the note's subject counts only where it is likely to be about the note itself.
The pattern's named group says where that is: ``bare``, such as *Moved to [[Lisbon]]*: in a note without other
text; ``top``: above the first section; ``first``: as the first block or in a quote.
"""
_SUBJECT = (
    "(?:this (?:note|page|document|doc|file|article|guide|procedure|decision|process|policy|runbook|manual)"
    "|diese (?:notiz|seite|datei|anleitung|entscheidung)|dieser (?:artikel|eintrag)"
    f"|dieses (?:dokument|verfahren)|{_OTHER_NOTES})"
)
_UNSPACED_SUBJECT = f"(?:(?:本|此|该)(?:笔记|页面|页|文档|文件|文)|{_THIS_JAPANESE}は)"
_ANY_DEAD = f"(?:{_NO_LONGER_VALID}|{_ONE_WORD}|{_UNSPACED_DEAD})"
_LABELLED = rf"\(?(?:{_LABEL}){{0,{_LABELS}}}"
THIS_IS_DEAD = re.compile(
    rf"{_LABELLED}(?:{_SUBJECT} {_IS}(?:{_NO_LONGER_VALID}|{_ONE_WORD}|{_GONE_WORDS})\s*(?:[.!;]|$)"
    rf"|{_UNSPACED_SUBJECT} ?{_UNSPACED_DEAD}[^,\[\n]{{0,8}}(?:[.!;]|$))"
)
ONLY_DEAD = re.compile(rf"{_LABELLED}{_ANY_DEAD}\W*")
DEAD_TITLE = re.compile(rf"\W*+({_ANY_DEAD})(?:\W*|\s*[:\])].*)|.+[(\[]({_ANY_DEAD})[)\]]")
POINTER = re.compile(rf"(?:{_ELSE} )?{LINKS}{_STOP}")
ONLY_LINKS = re.compile(rf"{LINKS}[.]?")
BY_HEADING = re.compile(_REPLACED_BY)

# -- signs

WRITTEN_LINK = re.compile(
    r"\[\[([^\[\]\n]+)\]\]|\[([^\[\]\n]*)\]\((<[^<>\n]+>|[^()\s]+(?:\([^()\s]*\)[^()\s]*)*)[^()\n]*\)"
)
_NOTES = re.compile(rf"(?<!\w){_THIS_NOTE}(?!\w)")
_PHRASES = re.compile(
    rf"(?<!\w)(?:({_REPLACED_BY})|({_MOVED_TO})|({_NO_LONGER_VALID})|({_DO_NOT_USE}))(?!\w)"
)


def signed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return ``typed(text)`` with signs for the parts of sentences, and the ranges of the links in
    ``text``.
    """
    lower = typed(text)
    links = [match.span() for match in WRITTEN_LINK.finditer(lower)]
    noted = _NOTES.sub(NOTE, WRITTEN_LINK.sub(LINK, lower))
    return _PHRASES.sub(lambda match: SIGNS[1 + (match.lastindex or 0)], noted), links


_LABEL_AT = re.compile(_LABEL)
_OPENING = re.compile(
    rf"(?:{_FROM}|{_THIS}|{_BE}|{_ADVERB}|{_NOUN}|(?:please |bitte )?{_SEE}|i|we|{_GERMANIC_HAVE}"
    rf"|{_ROMANCE_HAVE}|{_I_MOVED}|(?:please )?(?:do not|don't|never)|no|não) |i've|we've|{_OLD}"
    rf"|{_NEW_VERSION}|{_ONE_WORD}|{_GONE_WORDS}|moved|replaced|supersedes|obsoletes|{_UNSPACED}"
    rf"|\[.*(?:{_REPLACES}|replaced|superseded|{_UNSPACED})"
)
"""Pattern for the beginning of a sentence that does not begin with a phrase that has a sign."""


def starts(lower: str) -> Iterator[int]:
    """Yield the positions at which a sentence may begin in a text from ``typed``: after labels such as
    *Update:*, and before them, because they may be part of the sentence.

    Few texts have one, and finding it is faster than trying ``SENTENCES``.
    """
    places = [int(lower.startswith("("))]
    while len(places) <= _LABELS and (label := _LABEL_AT.match(lower, places[0])):
        places.insert(0, label.end())
    for place in places:
        if any(pattern.match(lower, place) for pattern in (_OPENING, _NOTES, _PHRASES)):
            yield place
