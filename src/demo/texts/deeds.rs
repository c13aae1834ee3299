//! What happens when one does something, and what is said when it cannot be done.

use super::Text;

texts! {
    GO_HOUSE_FIRST:
"頭を下げて木戸をくぐる。うしろで甚兵衛が「おひとり、入り」と呼ばわった。誰に聞かせるでもない、きまりの声である。",
"You bow your head and go in through the wicket. Behind you Jinbei calls out, “One, coming in!” to nobody, because that is how it is done.";
    NO_WAY:
"その方へは道がない。",
"There is no way in that direction.";
    NEXT_STEP:
"ひと足では行けない。まずは{}へ。",
"That is more than one step away. First you would have to go to {}.";
    HERE_ALREADY:
"もう、そこにいる。",
"That is where you are.";
    GO_WHERE:
"さて、どちらへ行こう。",
"Which way will you go?";
    NOT_OUT_YET:
"軒の外は、ひどい降りである。それに、木戸をくぐって札を納めずに帰るのは、この小屋ではいちばんの不作法だ。",
"Outside it is coming down hard. And to leave a theatre owing a ticket is the worst manners there are.";
    TOO_DARK:
"梯子に足をかけたが、三段目から先が見えない。灯がなくては、奈落へは下りられない。",
"You set a foot on the ladder, but beyond the third rung there is nothing to be seen. The naraku cannot be entered without a light.";
    DOWN_WITH_LIGHT:
"提灯を先に下ろし、そのあとを追うように梯子を下りる。",
"You let the lantern go down first, and follow it, rung by rung.";

    TAKE_WHAT:
"取れそうなものは見当たらない。何を取るのか、名を呼んでみよう。",
"Take what? Say its name, and your hands will know.";
    TAKE_LANTERN:
"釘から提灯をはずす。

「持っていけ」と甚兵衛。「ただし蝋燭は切らしとる。役者の鏡の前なら、燃えさしがあるかもしれん」",
"You lift the lantern down from its nail.

“Have it,” says Jinbei. “No candle, mind. If there’s a stub anywhere, it will be where an actor kept his face.”";
    TAKE_LANTERN_BACK:
"提灯を取り上げる。舞台の灯が、手のなかに戻った。",
"You pick the lantern up. The light comes off the stage and back into your hand.";
    TAKE_CANDLE:
"蝋燭を取る。鏡のなかの誰かも、同じように手を伸ばした。",
"You take the candle. Somebody in the mirror reaches out for it too.";
    TAKE_KEY:
"鍵をつまみ上げる。煙草の匂いがした。",
"You pick out the key. It smells of tobacco.";
    TAKE_CLAPPERS:
"拍子木を布から起こして、両の手に持つ。思いのほか軽く、思いのほか手になじむ。",
"You wake the clappers from their cloth and take one in each hand. They are lighter than you thought, and fit as if they had been waiting.";
    TAKE_TICKET:
"「これ、木戸の人に返して」と女の子が札をのせる。手のひらに、小さな温みが残った。

「わたしは、ここで待ってる。いい子で待ってたよって、言ってね」",
"“Will you give this back to the man at the wicket?” says the girl. The ticket is warm from her hand.

“I’ll wait here. Tell him I was good. Tell him I waited like he said.”";
    TAKE_FORGED:
"{}を手に取る。",
"Taken: {}.";
    HAVE_ALREADY:
"それなら、もう手もとにある。",
"You are carrying that already.";
    IN_LANTERN_ALREADY:
"蝋燭は提灯のなかに納まっている。",
"The candle is where it belongs, inside the lantern.";
    TAKE_FIXED:
"{}は、この小屋のものだ。明日の朝までは、ここに置いておこう。",
"Leave that be: it has been part of the house all this time, and has only until morning.";
    TAKE_PERSON:
"人は持っていけない。話しかけることなら、できる。",
"People are not for taking. One may talk to them, though.";
    TAKE_BRAZIER:
"「火鉢は勘弁してくれ」と甚兵衛が笑う。「年寄りの膝が冷える」",
"“Leave me the brazier,” says Jinbei, not unkindly. “These knees are older than the theatre.”";
    TAKE_BOARD:
"甚兵衛の目が光る。この札掛けに触れていいのは、三十年、ひとりだけである。",
"Jinbei clears his throat. In thirty years one pair of hands has touched that board.";
    TAKE_BOX:
"箱ごと抱えてみる。なかで木の触れ合う、いい音がした。けれど箱のままでは打てない。開けるには鍵がいる。",
"You lift the whole box, and inside it wood touches wood with a very good sound. But nobody can strike a box. You need the key.";
    TAKE_TRAY:
"盆を持ち上げると、底の引き出しがかたりと鳴った。何か入っているらしい。",
"When you lift the tray something rattles in the little drawer underneath.";
    TAKE_CUSHION:
"座布団には、もう主がある。そっとしておこう。",
"That seat is taken. Best leave the cushion where it lies.";

    USE_WHAT:
"何を使うのか、名を呼んでみよう。",
"Use what? Call it by its name.";
    NOTHING_COMES:
"{}をそうしてみても、何も起こらない。よい思いつきは、たいてい二度目に来る。",
"You try it, and nothing comes of it. The good idea is generally the second one.";
    NOT_HELD:
"{}は、まだ手もとにない。",
"You would have to take {} first.";
    NOT_HERE:
"{}は、ここには見当たらない。",
"You look for {}, and it is not here.";
    NOT_KNOWN:
"それらしいものは、見当たらない。",
"You look about, and see nothing of the kind.";

    CANDLE_INTO_LANTERN:
"提灯の底の釘に、蝋燭を立てる。誂えたように納まった。",
"You set the candle on the spike inside the lantern. It might have been made for it.";
    CANDLE_NEEDS_LANTERN:
"裸火で歩くわけにはいかない。ここは何から何まで木と紙の小屋だ。蝋燭を納める提灯がほしい。",
"Nobody carries a naked flame through a house of wood and paper. The candle wants a lantern round it.";
    LANTERN_NEEDS_CANDLE:
"提灯は空である。まず蝋燭を立てなければ、灯のともしようがない。",
"The lantern is empty. It wants a candle before it can want a flame.";
    LANTERN_NEEDS_FIRE:
"あとは火だけだが、ここには火の気がない。この小屋で火といえば、木戸口の火鉢ひとつである。",
"It needs only a flame now, and there is none here. The one fire left in this house is in the brazier at the wicket.";
    LANTERN_KINDLED:
"付け木の先に炭火を移し、提灯の蝋燭にともす。「朧」の字が、ふうわりと浮かび上がった。

「ああ」と甚兵衛。「そんな色だったな」",
"You carry a spark from the coal on a sliver of cedar and touch it to the wick. On the paper the hazy moon comes up, soft and round.

“Ah,” says Jinbei. “That was the colour.”";
    LANTERN_BURNS_ALREADY:
"灯はよく燃えている。暗いところへ持っていけば、役に立つだろう。",
"It burns well. Somewhere darker than this, it would be of use.";
    LANTERN_OVER_HOLE:
"切り穴の上に提灯をさしかける。梯子の先に、土の床が見えた。これなら下りられる。",
"You hold the lantern over the hole. At the foot of the ladder there is a floor of earth. You could go down.";
    LANTERN_PLACED:
"舞台の端に提灯を置く。足もとからの灯に、檜の板が蜜のような色になった。舞台が、目をさましたようである。",
"You set the lantern down at the front of the stage. Lit from below, the boards turn the colour of honey. It looks like a stage waking up.";
    LANTERN_PLACED_ALREADY:
"提灯はもう、舞台を照らしている。",
"The lantern is lighting the stage already.";
    LANTERN_PUT_ELSEWHERE:
"ここに置いていくには惜しい灯だ。置くなら、見る人のある場所がいい。",
"Too good a light to leave just anywhere. If you put it down, let it be where people would look.";
    BRAZIER_WITHOUT_LANTERN:
"炭火に手をかざす。指の先まで温まった。この火を運ぶには、蝋燭と提灯がいる。",
"You warm your hands over the coal. To carry that fire anywhere you would need a candle, and a lantern to put it in.";

    TRAY_OPENED:
"引き出しを引く。刻み煙草の粉のなかから、小さな鍵が転がり出た。",
"You pull out the drawer. Among the crumbs of tobacco lies a small key.";
    TRAY_EMPTY:
"引き出しは、もう開いている。煙草の粉のほかには何もない。",
"The drawer is open. There is nothing more in it but tobacco dust.";
    BOX_LOCKED:
"柝箱には錠がおりている。小さな、気むずかしそうな鍵穴だ。鍵はどこかに置き忘れられているのだろう。",
"The clapper box is locked. It has a small keyhole of the fussy kind. Whoever had the key must have left it lying somewhere.";
    BOX_OPENED:
"鍵を差すと、錠は咳ばらいのような音をたてて開いた。紫の布の上に、拍子木がひと組、寝かせてある。鍵は錠に残しておく。",
"The lock gives with a sound like a cough. On purple cloth lies a pair of clappers. You leave the key where it is happiest, in its lock.";
    BOX_OPEN_ALREADY:
"柝箱はもう開いている。",
"The clapper box is open already.";
    KEY_FITS_NOTHING:
"この鍵の合う錠は、ここにはない。頭に彫られた「柝」の字が、手がかりになりそうだ。",
"Nothing here has a lock that small. But there is that word engraved on it: clappers.";

    CLAPPERS_WICKET:
"番台の前で柝を打つ。甚兵衛が目を閉じて、首を振った。

「いい音だ。だが、それは舞台で打つもんだ」",
"You strike the clappers in front of the counter. Jinbei shuts his eyes and shakes his head.

“A good sound. But it belongs on the stage.”";
    CLAPPERS_FRONT:
"チョン、と音は客席を渡り、舞台の上で消えた。ここは聞く側の場所である。",
"Tchon: the sound crosses the seats and goes out over the stage. This is the side where people listen.";
    CLAPPERS_DRESSING:
"チョン。役者を呼ぶには、これでよかったのだろう。けれど楽屋には、もう誰もいない。打つなら、舞台だ。",
"Tchon. It would have called the actors, once. But no one is left in the dressing room. It is the stage that wants it.";
    CLAPPERS_NARAKU:
"チョン、と奈落に響いた。女の子が顔を上げる。

「上だよ。幕は、上にあるんだもの」",
"Tchon, says the dark. The girl looks up.

“Not down here,” she says. “The curtain’s up there.”";
    CLAPPERS_EMPTY_DARK:
"チョン。奈落の闇は、もう何も待っていない。",
"Tchon. The dark down here is not waiting for anything any more.";
    CLAPPERS_NOBODY_KNOWN:
"暗い舞台に柝を打つ。

音が消えたあと、足の下、ずっと深いところで、下駄がからりと鳴った。誰かが聞いている。誰のために打つのか、まだあなたは知らない。",
"You strike the clappers on the stage.

When the sound is gone, something answers from a long way under your feet: a wooden clog, shifting. There is somebody listening, and you do not yet know who.";
    CLAPPERS_IN_THE_DARK:
"柝を打つ。幕がわずかに揺れて、止まった。奈落から、小さな声がする。

「まだ、まっくらだよ。なんにも見えない」",
"You strike. The curtain shivers, and stops. A small voice comes up through the boards.

“It’s still dark. I can’t see anything.”";
    CLAPPERS_AFTER:
"もう一度だけ、そっと打つ。幕は閉じている。芝居は、ちゃんと終わっている。",
"Once more, softly. The curtain is closed. The play is properly over.";
    CURTAIN_PULLED:
"幕の端を引いてみる。三十年開いていた幕は、手で引いたくらいでは動かない。柝が鳴らなくては、幕も自分の出番だと思わないのだろう。",
"You pull at the edge of the curtain. After thirty years it does not come for a mere hand. Until it hears the clappers, it cannot know that this is its cue.";

    TICKET_NOT_HERE:
"この札は、木戸番に渡すものだ。",
"This ticket belongs in the hand of the keeper at the wicket.";
    TICKET_TO_GIRL:
"女の子は首を振る。「木戸の人に、だよ」",
"The girl shakes her head. “To the man at the wicket,” she says.";
    GIFT_REFUSED:
"{}を差し出してみたが、そっと押し戻された。",
"You hold it out, and it is gently pushed back into your hand.";
    KEEP_IT:
"{}は、手もとに持っておこう。まだ出番がありそうだ。",
"Better to keep it by you. Its cue may still be coming.";

    CARRYING:
"手もとにあるのは、{}。",
"You are carrying: {}.";
    EMPTY_HANDED:
"手には何も持っていない。",
"Your hands are empty.";
    SANG:
"うろ覚えの節を、ひとくさり。暗がりが、手を打ちそうになってやめた。",
"You try a verse of something half remembered. The dark very nearly claps.";
    SANG_ON_STAGE:
"檜の板を、とんと踏む。足が勝手に見得を切った。大向こうから声がかかるには、少し人が足りない。",
"You stamp once on the cypress boards, and your body strikes a pose all on its own. It wants only somebody up in the gallery to shout your name.";
    HARMED:
"その手は、そっと下ろした。この小屋は、明日を待つだけの年寄りである。",
"You lower your hand again. This house is old, and has only until morning. It needs no help from you.";
    ATE:
"腹の虫をなだめて、やめておく。幕間の弁当は、三十年前に売り切れている。",
"You think better of it. The last box lunch in this theatre was sold thirty years ago.";
    SAT:
"しばらく腰をおろす。木の匂いが、膝のあたりまで降りてきた。",
"You sit down for a while. The smell of old wood settles about your knees.";
    SAT_IN_HOUSE:
"桝のひとつに膝を折る。目の高さに舞台がある。ここから見れば、何もない舞台も、始まる前の舞台に見える。",
"You fold your knees into one of the boxes. The stage is level with your eyes. From here an empty stage looks just like one that has not begun.";
    JUMPED:
"とんと跳ねる。床がぎいと鳴いて、どこかで埃が落ちた。",
"You jump. The floor complains, and somewhere a little dust comes down.";
    WAITED:
"しばらく待ってみる。雨の音が、少しだけ近くなった。",
"You wait a little. The rain seems to come a step nearer.";
    HELP:
"したいことを、ふだんの言葉で書けばよい。「提灯を取る」「北へ行く」「甚兵衛に話しかける」というふうに。迷ったら、木戸口の甚兵衛に聞くのがいい。三十年、木戸から小屋を見てきた人だ。",
"Say what you want to do in plain words: “take the lantern”, “go north”, “talk to Jinbei”. If you are lost, ask Jinbei at the wicket. He has been looking into this house for thirty years.";
    NOTHING_TO_HEAR:
"口をひらいたが、言葉が出てこない。",
"You open your mouth, and no words come.";

    BAD_REQUEST:
"この台詞は読み取れませんでした。",
"That line could not be read.";
    BAD_KIND:
"その仕草は、この芝居にはありません。",
"This play knows no such gesture.";
    BAD_STATE:
"芝居の控えが読めなくなっています。お手数ですが、最初からどうぞ。",
"The prompt book for this game cannot be read. Please begin again.";
}
