"""Names of months in about forty languages, in the forms that dates use, and of weekdays in seven."""

from functools import cache

from vaultseek.base.text import fold_accents

_NAMES = (
    "ene enero gen gener gennaio ianuarie jaanuar jan janar janeiro januar januara januari januarie "
    "januarja january január januára janv janvier janvāris janvārī janúar jänner leden ledna ocak sausio "
    "sausis siječanj siječnja styczeń stycznia tammi tammikuu tammikuuta xaneiro ιανουάριοσ ιανουαρίου "
    "студзень студзеня січ січень січня янв январь января януари јануар јануара јануари հունվար հունվարի "
    "ינואר يناير ژانویه जनवरी იანვარი",
    "feb febbraio febreiro febrer febrero februar februara februari februarie februarja february február "
    "februára februāris februārī febrúar fev fevereiro fév févr février helmi helmikuu helmikuuta lutego "
    "luty shkurt vasario vasaris veebruar veljača veljače únor února şubat φεβρουάριοσ φεβρουαρίου лют "
    "лютага лютий лютого люты фебруар фебруара февр февраль февраля февруари փետրվար փետրվարի פברואר "
    "فبراير فوریه फ़रवरी თებერვალი",
    "březen března kovas kovo maalis maaliskuu maaliskuuta maart mar marca march marec maret mars mart "
    "marta martie marts martā marzec marzo març março mrt március mär märts märz ožujak ožujka μάρτιοσ "
    "μαρτίου бер березень березня мар март марта сакавік сакавіка մարտ մարտի מרץ مارس मार्च მარტი",
    "abr abril apr april aprila aprile aprilie aprill apríl apríla aprīlis aprīlī avr avril balandis "
    "balandžio duben dubna huhti huhtikuu huhtikuuta kwiecień kwietnia nisan prill travanj travnja "
    "április απρίλιοσ απριλίου апр апрель апреля април априла квіт квітень квітня красавік красавіка "
    "ապրիլ ապրիլի אפריל آوریل أبريل अप्रैल აპრილი",
    "gegužė gegužės květen května mag maggio mai maig maijs maijā maio maj maja may mayo mayıs maí mei "
    "máj mája május svibanj svibnja touko toukokuu toukokuuta μάιοσ μαΐου май мая мај маја трав травень "
    "травня մայիս մայիսի מאי مايو მაისი",
    "birželio birželis czerwca czerwiec giu giugno haziran iun iunie juin jun juna june junho juni junie "
    "junij junija junio juny juuni jún júna június júní jūnijs jūnijā kesäkuu kesäkuuta lipanj lipnja "
    "qershor xuño červen června ιουνίου ιούνιοσ июн июнь июня черв червень червня чэрвень чэрвеня юни јун "
    "јуна јуни հունիս հունիսի יוני يونيو ژوئن जून ივნისი",
    "heinä heinäkuu heinäkuuta iulie juil juillet jul jula julho juli julie julij julija julio juliol "
    "july juuli júla július júlí jūlijs jūlijā korrik liepa liepos lipca lipiec lug luglio srpanj srpnja "
    "temmuz xullo července červenec ιουλίου ιούλιοσ июл июль июля лип липень липня ліпень ліпеня юли јул "
    "јула јули հուլիս հուլիսի יולי يوليو ژوئیه जुलाई ივლისი",
    "ago agost agosto agustus août aug august augusta augusti augusts augustus augustā augusztus avgust "
    "avgusta ağustos elo elokuu elokuuta gusht kolovoz kolovoza rugpjūtis rugpjūčio sierpień sierpnia "
    "srpen srpna ágúst αυγούστου αύγουστοσ авг август августа жнівень жніўня серп серпень серпня օգոստոս "
    "օգոստոսի אוגוסט أغسطس اوت अगस्त აგვისტო",
    "eylül rugsėjis rugsėjo rujan rujna sep sept septembar september septembra septembre septembrie "
    "septembris septembrī septiembre set setembre setembro setiembre settembre shtator syyskuu syyskuuta "
    "szept szeptember wrzesień września září σεπτέμβριοσ σεπτεμβρίου вер верасень верасня вересень "
    "вересня сент сентябрь сентября септембар септембра септември սեպտեմբեր սեպտեմբերի ספטמבר سبتمبر "
    "سپتامبر सितंबर სექტემბერი",
    "ekim lokakuu lokakuuta oct october octobre octombrie octubre okt oktobar oktober oktobra oktobris "
    "oktobrī oktoober október októbra ott ottobre out outubro październik października spalio spalis "
    "tetor říjen října οκτωβρίου οκτώβριοσ жовт жовтень жовтня кастрычнік кастрычніка окт октобар октобра "
    "октомври октябрь октября հոկտեմբեր հոկտեմբերի אוקטובר أكتوبر اکتبر अक्टूबर ოქტომბერი",
    "kasım lapkritis lapkričio listopad listopada listopadu marras marraskuu marraskuuta noiembrie nov "
    "novembar november novembra novembre novembris novembro novembrī noviembre nëntor nóvember studeni "
    "studenoga νοέμβριοσ νοεμβρίου лист листопад листопада лістапад лістапада новембар новембра ноември "
    "нояб ноябрь ноября նոյեմբեր նոյեմբերի נובמבר نوامبر نوفمبر नवंबर ნოემბერი",
    "aralık dec decembar december decembra decembre decembrie decembris decembro decembrī des desember "
    "desembre detsember dez dezember dezembro dhjetor dic dicembre diciembre déc décembre grudnia "
    "grudzień gruodis gruodžio joulu joulukuu joulukuuta prosinac prosinca prosince prosinec δεκέμβριοσ "
    "δεκεμβρίου груд грудень грудня дек декабрь декабря декември децембар децембра снежань снежня "
    "դեկտեմբեր դեկտեմբերի דצמבר دسامبر ديسمبر दिसंबर დეკემბერი",
)
"""Case-folded names of each month, from the Unicode CLDR, with genitives (*5 января*) and common
abbreviations. *Listopad* is November, as in Polish and Czech; the Croatian month is October."""
WEEKDAYS = (
    "monday|montag|lundi|lunes|lunedì|segunda-feira|maandag",
    "tuesday|dienstag|mardi|martes|martedì|terça-feira|dinsdag",
    "wednesday|mittwoch|mercredi|miércoles|mercoledì|quarta-feira|woensdag",
    "thursday|donnerstag|jeudi|jueves|giovedì|quinta-feira|donderdag",
    "friday|freitag|vendredi|viernes|venerdì|sexta-feira|vrijdag",
    "saturday|samstag|sonnabend|samedi|sábado|sabato|zaterdag",
    "sunday|sonntag|dimanche|domingo|domenica|zondag",
)
"""Names of each weekday, from Monday, as alternatives in a pattern."""
_IN_HEBREW = "ב"
"""Hebrew prefix for *in*, which is part of the word."""


def month_number(name: str) -> int | None:
    """Return the number of the month with this name, which may lack its accents; None for other words."""
    return _numbers().get(name.casefold().removeprefix(_IN_HEBREW))


@cache
def _numbers() -> dict[str, int]:
    named = ((name, number) for number, names in enumerate(_NAMES, 1) for name in names.split())
    return {form: number for name, number in named for form in (name, fold_accents(name))}
