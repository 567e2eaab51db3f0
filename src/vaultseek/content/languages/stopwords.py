"""Stop words: function words that carry little meaning by themselves.

They count less in a search, and they reveal the language of a text. The lists are in lower case and keep
accents. Languages that are recognized by their script alone have no list.
"""

from functools import cache

from vaultseek.base.text import fold_accents

_WORDS = {
    "ar": """
        في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا من هل كان كانت يكون تكون هو
        هي هم هن انا نحن انت أن ان إن لا لم لن ليس قد لقد كل بعض بين بعد قبل عند منذ حتى كما أو او
        ثم لكن أي اي كيف متى أين اين كم لماذا حيث إذا اذا غير خلال حول ضد تحت فوق له لها لهم به بها
        فيه فيها منه منها عليه عليها و ال أيضا بل
    """,
    "bg": """
        и в на с за от по до не се да че е са си като ще който която което които този тази това тези
        той тя то те ние вие аз ти но или ако при със във към без над под след преди между през
        какво как кога къде защо кой коя кое бе беше били още само много така вече може има няма им
        му ги го ѝ
    """,
    "ca": """
        el la els les un una uns unes de del dels al als a en amb per que i o no és són era ser ha han hi es
        se seu seva seus seves aquest aquesta aquests aquestes això quan on qui quin quina com més molt
        també però perquè entre sobre sense fins des ja li lo nosaltres vosaltres
    """,
    "cs": """
        a i o u v ve s se si z ze k ke na do od po pro za při před nad pod bez mezi není je jsou byl byla
        bylo byli být jsem jsme jste bude budou že aby ale nebo ani když kde kdy kdo co jak který která
        které kterou kterého kteří tento tato toto tyto ten ta to ti jeho její jejich jako také už jen již
        více než podle proč jaký jaká jaké kolik mezi tak
    """,
    "da": """
        af alle at blev bliver da de dem den denne der deres det dette dig din disse dog du efter eller en
        end er et for fra ham han hans har havde hende hendes her hun hvad hvem hvilke hvilken hvilket hvis
        hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne man mange med meget men mere mig min
        mit mod ned noget nogle nogen nu når og også om op os over på sig sin sit skal skulle som så til ud
        under var ved vi vil ville være været
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist
        da dadurch damit dann das dass dein deine dem den denn der des dich die dies diese diesem diesen
        dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für
        gegen gibt hab habe haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
        im in indem ins ist ja jede jedem jeden jeder jedes jene kann kein keine keinem keinen keiner können
        könnte machen man mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne
        sehr sein seine seinem seinen seiner selbst sich sie sind so solche soll sollte sondern sonst über
        um und uns unser unsere unter viel vom von vor war waren warum was weil weiter welche welchem
        welchen welcher welches wenn wer werde werden wie wieder wieso will wir wird wo wollen worden wurde
        wurden während zu zum zur zwar zwischen
    """,
    "el": """
        ο η το οι τα του της των τον την τους τις στο στη στην στον στους στις στα σε με για από ως
        προς και ή αλλά να θα δεν μην μη που ότι πως πώς ποιος ποια ποιο ποιοι ποιες τι πότε πού
        γιατί πόσο πόσοι πόσα είναι ήταν έχει έχουν είχε μια μία ένα ένας έναν αυτό αυτή αυτός αυτά
        αυτές αυτοί όταν αν κατά μετά πριν μεταξύ χωρίς επίσης όπως τι μου σου μας σας κι εκτός
    """,
    "en": """
        a about after again all also am an and any are as at be because been before being between both but
        by can could describe did do does doing done down during each either else ever every explain find
        for from further get give go had has have having he her here hers him his how i if in into is it its
        just know let like list look me mean means might more most must my need no nor not now of off on
        once one only or other our out over own please same shall she should show so some something such
        tell than that the their them then there these they thing things this those through to too under
        until up us use used very want was way we were what when where which while who whom whose why will
        with within without would you your whats what's it's i'm don't
    """,
    "es": """
        a al algo algunas algunos ante antes aquel aquella como con contra cual cuáles cuál cuando cuándo
        cuánto cuántos cuántas cómo de del desde donde dónde durante e el él ella ellas ellos en entre era
        eran es esa ese eso esta está están estaba estas este esto estos fue fueron ha había han hasta hay
        la las le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otras otro otros para
        pero por porque que qué quien quién quienes se ser si sí sin sobre son su sus también tanto te tiene
        tienen tu tus un una uno unos y ya yo
    """,
    "fa": """
        و در به از که این آن را با برای است بود شد شده می های ها یک تا بر هم نیز اما یا اگر هر چه
        چرا چگونه کجا کدام کی چند چیست باید شود کرد کرده دارد داشت خود او ما شما آنها من تو بین پس
        پیش روی زیر هیچ همه بسیار دیگر نه هستند بودند
    """,
    "fi": """
        ja on ei että se ne oli olivat ovat ole ollut olla joka jotka jonka jossa jota johon myös tai mutta
        kun kuin niin sen sitä siitä siinä hän hänen he heidän minä sinä me te mitä mikä missä milloin miksi
        miten kuka ketkä kuinka tämä tämän tässä nämä näiden tuo nuo jos koska vain vielä jo nyt sekä ennen
        jälkeen kanssa mukaan yli alle ilman sitten jolloin voi eivät hyvin enemmän kaikki
    """,
    "fr": """
        à a ai ainsi alors au aucun aussi autre autres aux avait avant avec c car ce cela ces cet cette ceux
        chaque ci comme comment d dans de depuis des deux donc dont du elle elles en encore entre est et
        étaient était être eu fait faire il ils j je jusqu l la le les leur leurs lorsque lui m ma mais me
        mes moi moins mon n ne ni nos notre nous on ont ou où par pas pendant peu peut plus plusieurs pour
        pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous sur
        t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
    """,
    "he": """
        של את על עם אל או לא זה זו זאת הוא היא הם הן אני אתה אנחנו יש אין כי אם גם רק כל כמו בין
        לפני אחרי היה היתה הייתה היו להיות אשר מה מי מתי איפה היכן איך כיצד למה מדוע כמה איזה איזו
        אילו אבל עד ידי לו לה להם בו בה בהם שלו שלה שלהם יותר כך אך
    """,
    "hi": """
        का के की को में से है हैं था थे थी और या पर ने कि जो यह वह ये वे इस उस इन उन एक भी ही तो कर
        करने किया लिए साथ बाद तक हो होता होती होते गया गई गए जा रहा रही रहे नहीं अपने अपनी अपना क्या
        कब कहाँ कहां कैसे क्यों कौन किस किसने कितने कितनी कितना जब तब यदि अगर लेकिन द्वारा सकता सकते
        दिया कुछ सभी
    """,
    "hr": """
        i u na je su se da za od do iz s sa o po kao koji koja koje kojih kojem ali ili ako nego ne nije
        nisu bio bila bilo bili biti će bi što šta kako gdje gde kada zašto tko ko ovaj ova ovo taj ta to ti
        on ona oni njegov njihov svoj samo još već prema između nakon pre prije kod bez te više
    """,
    "hu": """
        a az és hogy nem is egy ez azt ezt ha de csak már még mint volt vagy van voltak lesz lett meg el ki
        be fel le ami aki amely amelyek akik amit ahol amikor mert mi mit mikor hol hogyan miért melyik
        mennyi hány kik sem se után előtt között alatt szerint által ennek annak ebben abban során valamint
        illetve pedig majd nagyon minden olyan ilyen úgy így
    """,
    "id": """
        yang di dan ke dari untuk pada dengan adalah ini itu dalam tidak akan oleh sebagai juga atau karena
        saat telah dapat bisa ada mereka dia ia kami kita saya anda lebih sudah masih hanya seperti antara
        setelah sebelum apa siapa kapan dimana mana bagaimana mengapa berapa para tersebut merupakan menjadi
        namun bahwa
    """,
    "it": """
        a ad agli ai al alla alle allo altri altro anche avere aveva c che chi ci come con contro cosa cui d
        da dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove e è ed era erano
        essere fa fra fu gli ha hanno ho i il in io la le lei li lo loro lui l ma mi mia mio molto ne negli
        nei nel nella nelle nello no noi non nostro o ogni per perché però più poi prima qual quale quali
        quando quanti quanto quella quelle quelli quello questa queste questi questo qui se sei senza si sia
        sono sotto su sua sue sugli sui sul sulla sulle sullo suo suoi tra tu tutti tutto un una uno vi voi
    """,
    "nl": """
        aan al alles als altijd ander ben bij daar dan dat de deze die dit doch doen door dus een eens en er
        ge geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja
        je kan kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook
        op over reeds te tegen toch toen tot tussen u uit uw van veel voor waar waarom wanneer want waren
        was wat welke werd werden wezen wie wij wil word worden wordt ze zelf zich zij zijn zo zonder zou
    """,
    "no": """
        alle at av ble blei bli blir da de deg dem den denne der deres det dette din disse du eg ei ein en
        enn er et etter for fra før ha hadde han hans har hennes her hun hva hvem hver hvilke hvilken
        hvilket hvis hvor hvordan hvorfor i ikke ikkje inn jeg kan kom kunne man mange med meg mellom men
        mer min mot mye ned nei noe noen nå når og også om opp oss over på seg selv sin sitt skal skulle
        slik som så til um under ut uten var ved vi vil ville være vært
    """,
    "pl": """
        i w we z ze na do od po za o u dla przez przy przed nad pod bez między nie się jest są był była było
        byli być że aby ale lub albo oraz ani gdy gdzie kiedy kto co czy jak jaki jaka jakie który która
        które których którego której którym ten ta to ci te tego tej tych tym jego jej ich jako także też
        już tylko jeszcze bardziej niż więc ponieważ dlaczego ile ma mają może można tak został została
        zostały
    """,
    "pt": """
        a à ao aos aquela aquele aqueles as às até com como contra da das de dela dele deles depois do dos
        durante e é ela elas ele eles em entre era eram essa esse esta está estão este estes eu foi foram há
        isso isto já lhe lhes mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num
        numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quantas quanto quantos que
        quê quem são se sem ser seu seus só sobre sua suas também te tem têm ter tinha tu tua um uma umas
        uns você vocês
    """,
    "ro": """
        și si în in la de din cu pe pentru care ce că ca a au am al ale ai un o una unei unui este e sunt
        era erau fost fi nu mai sau dar dacă când cum unde cine cât câți câte de-a lui lor ei el ele său sa
        sale acest această aceasta acestea acesta acel acea aceste prin după până între fără despre către
        asupra se s-a s-au îi îl le li ne iar decât foarte tot toate toți doar fiind avea are
    """,
    "ru": """
        а без более больше будет будто бы был была были было быть в вам вас весь во вот все всегда
        всего всех вы где да даже для до его ее её ей ему если есть еще ещё ж же за здесь и из или
        им их к как какая какие какой какую каких каким когда кого которая которое которой которого
        которую которые который которых кто куда ли либо между меня мне много может можно мой моя мы
        на над надо нас не него нее неё нет ни них но ну о об он она они оно от перед по под после
        потом потому почему при про с сам свою себя сколько со так также такой там те тем то того
        тоже той только том тот у уже хотя чего чей чем через что чтобы эта эти этим этих это этого
        этой этом этот эту я является
    """,
    "sk": """
        a i o u v vo s so sa si z zo k ku na do od po pre za pri pred nad pod bez medzi nie je sú bol bola
        bolo boli byť som sme ste bude budú že aby ale alebo ani keď kde kedy kto čo ako ktorý ktorá ktoré
        ktorého ktorej ktorí ktorú tento táto toto tieto ten tá to tí jeho jej ich tiež už len viac než
        podľa prečo aký aká aké koľko tak
    """,
    "sv": """
        alla allt att av bara bli blir blev de dem den denna deras dess dessa det detta dig din du där då
        efter ej eller en er ett från för före ha hade han hans har henne hennes hon honom hur här i icke in
        inte ju jag kan kunde man med mellan men mer mig min mot mycket ni nu när någon något några och om
        oss på sedan sig sin sitt ska skall skulle som så till under upp ut utan vad var varför vara varit
        vem vi vid vilka vilken vilket vill åt än över
    """,
    "tr": """
        ve bir bu da de için ile o ne mi mı mu mü gibi daha çok en olarak olan oldu olduğu olduğunu
        olduğunda ancak ama veya ya her kadar sonra önce göre değil var yok ise ki şu biz siz ben sen onlar
        onun bunun hangi hangisi kim kimdir nasıl neden niçin nerede nereye zaman kaç nedir hem tarafından
        üzerinde arasında içinde bunlar şey etti eden edilen edildi idi
    """,
    "uk": """
        і й та в у на з із зі до від за про по для не що як це він вона воно вони ми ви я ти але або
        чи якщо коли де хто який яка яке які яких якого якої яким його її їх їм був була було були
        бути є також так ще вже тільки більше між після перед під над без через при тому чому
        скільки цей ця ці цього цієї цих
    """,
    "vi": """
        của và là có các cho được trong một những với không này đó khi từ người đã để ở như về đến
        ra vào cũng theo trên tại do bị sẽ hay hoặc nhưng vì nên thì mà rất nhiều nào gì ai đâu bao
        nhiêu sao thế tôi bạn họ ông bà nó chúng sau trước giữa hơn còn đang lại phải
    """,
}  # fmt: skip

WITH_STOP_WORDS = tuple(_WORDS)
"""Codes of the languages that have a list of stop words."""


@cache
def stop_words(language: str | None) -> frozenset[str]:
    """Return the stop words of a language, with accents; empty for a language without a list."""
    return frozenset(_WORDS.get(language or "", "").split())


@cache
def all_stop_words() -> frozenset[str]:
    """Return the stop words of all languages, without accents."""
    return frozenset[str]().union(*map(folded_stop_words, WITH_STOP_WORDS))


@cache
def folded_stop_words(language: str | None) -> frozenset[str]:
    """Return the stop words of a language, without accents, as the keyword index compares them."""
    return frozenset(map(fold_accents, stop_words(language)))


_OTHERS = frozenset[str]().union(*map(stop_words, ("de", "fr", "es")))

STOP_WORDS = stop_words("en") | {word for word in _OTHERS if len(word) > 1}
"""Stop words in English, German, French and Spanish together, folded but with accents. Single letters from
languages other than English are left out, because they usually begin an identifier, as in ``E-4107``."""
