//! The opening, the ending, and what a place looks like when one stands in it.

use super::Text;

texts! {
    OPENING:
"雨の夜である。

芝居小屋「朧座」は、明日の朝、取り壊される。木戸口に灯がひとつ残っていて、番台には木戸番の甚兵衛が座っている。三十年、この木戸を離れたことがないという老人だ。

「札は」と、甚兵衛が手を出す。

札など、持っていない。

「なら、帰りに一枚もらおう。この小屋で出した札は、みな帰ってきた。一枚だけ、まだ中におる」

老人のうしろの札掛けには、ずらりと並んだ木札のなかに、釘がひとつだけ空いていた。",
"A night of rain.

In the morning they will pull down the Oboro-za. It is a small theatre, all of wood, and one light still burns at its wicket. Behind the light sits Jinbei, the keeper, who is said not to have left that seat in thirty years.

“Ticket,” he says, and holds out his hand.

You have no ticket.

“Then you can pay me on the way out. Every ticket this house ever sold has come home to me. All but one. That one is still in there.”

On the board behind him hang the wooden tickets, row on row, and among them a single bare nail.";

    WICKET:
"木戸口。人ひとりがやっと通れるだけの、狭い木戸である。番台に甚兵衛、その足もとに火鉢、背に札掛け。北へくぐれば客席、軒の外は雨。",
"The wicket: a gap in the boards just wide enough for one person at a time. Jinbei sits at his counter, a brazier at his feet and the ticket board at his back. North, through the gap, lie the seats. Beyond the eaves it rains.";
    HOUSE:
"平土間。低い横木で桝に仕切られた客席が、闇の奥まで並んでいる。畳は湿り、煎餅と樟脳と、帰っていった人たちの匂いがする。花道が一本、川に渡した板のように客席を横切っている。北に舞台、梯子の上に二階桟敷。",
"The floor of the house. Low rails divide it into square boxes, row behind row into the dark. The matting is damp, and smells of rice crackers and camphor and everyone who has gone home. The hanamichi crosses it like a plank laid over a river. The stage is north; a ladder leads up to the gallery.";
    GALLERY:
"二階桟敷。手すりには大勢の肘がこしらえた窪みが並んで、どれもつやつやと光っている。ここから見る舞台は、重箱の底のように小さい。隅に、煙草盆がひとつ置き忘れてある。",
"The upper gallery. Generations of elbows have worn the rail into a row of shining hollows. Seen from here the stage is no bigger than the bottom of a lunch box. Somebody has left a tobacco tray in the corner.";
    STAGE:
"舞台。檜の板は、もう来ない足のために、今も鏡のように拭き込まれている。板の端に四角い切り穴があって、下は奈落である。東の袖の先が楽屋。",
"The stage. The cypress boards are still wiped to a shine, for feet that no longer come. Near the edge a square hole has been cut in the floor, and under it is the naraku, the dark below every stage. The dressing room is east, past the wing.";
    DRESSING:
"楽屋。役者たちの荷はみな運び出されて、白粉の匂いだけが引っ越しに遅れている。壁ぎわに鏡台がひとつ、棚の上に桐の柝箱がひとつ。",
"The dressing room. Everything the actors owned has been carried off; only the smell of white powder has missed the cart. A mirror stand is left by the wall, and on the shelf a paulownia box, long and narrow, made to hold a pair of clappers.";
    NARAKU:
"奈落。廻り舞台を支える心棒が、大木のように闇のなかに立っている。ここまでは、雨の音も降りてこない。",
"The naraku. The shaft that once turned the whole stage stands in the dark like the trunk of a great tree. Even the sound of the rain does not come down as far as this.";

    WICKET_AGAIN:
"木戸口。甚兵衛が顔を上げ、札のない手を見て、また火鉢に目を戻した。",
"The wicket again. Jinbei looks up, looks at your hands, and goes back to his coal.";
    WICKET_WITH_TICKET:
"木戸口。甚兵衛が顔を上げ、それから、あなたの手を見た。",
"The wicket. Jinbei looks up. Then he looks at what is in your hand.";
    HOUSE_AGAIN:
"平土間。闇のほうでも、こちらに慣れてきたらしい。",
"The floor of the house. The dark has begun to get used to you.";
    GALLERY_AGAIN:
"二階桟敷。手すりの窪みのひとつが、もう自分の席のような気がする。",
"The upper gallery. One of the hollows in the rail is beginning to feel like yours.";
    STAGE_AGAIN:
"舞台。足の裏が、板の冷たさを覚えている。下に奈落、東に楽屋。",
"The stage. Your feet remember how cold the boards are. The naraku is below you, the dressing room east.";
    DRESSING_AGAIN:
"楽屋。鏡台と柝箱が、留守番のように向かいあっている。",
"The dressing room. The mirror and the long box have been keeping each other company.";
    NARAKU_AGAIN:
"奈落。二度目の闇は、一度目より少し浅い。",
"The naraku. The second time, it is one shade less dark.";

    LANTERN_AT_WICKET:
"柱の釘に、火のない提灯が下がっている。",
"A paper lantern, unlit, hangs from a nail in the post.";
    LANTERN_ON_STAGE:
"舞台の端には提灯がひとつ、足もとから板を照らしている。",
"At the front of the stage your lantern lights the boards from below.";
    CANDLE_BY_MIRROR:
"鏡の前に、使いさしの蝋燭が一本立っている。",
"In front of the mirror stands a candle, half used.";
    KEY_IN_DRAWER:
"煙草盆の引き出しが開いて、小さな鍵が覗いている。",
"The drawer of the tobacco tray is open, and a small key looks out of it.";
    CLAPPERS_IN_BOX:
"柝箱の蓋は開いて、拍子木がひと組、紫の布に寝かせてある。",
"The box stands open. A pair of clappers lies asleep on purple cloth.";
    TICKET_IN_HOUSE:
"その手のひらに、木札が一枚のっている。",
"On her open palm lies a wooden ticket.";
    LIES_HERE:
"ここには{}がある。",
"You see this here: {}.";
    GIRL_IN_NARAKU:
"心棒の陰に、赤い鼻緒の下駄をはいた女の子がひとり、膝をそろえて座っている。",
"In the shelter of the shaft a girl in red-thonged clogs is sitting, her knees together, like someone told to be good.";
    GIRL_IN_HOUSE:
"いちばん前の桝に、赤い鼻緒の女の子がきちんと座っている。",
"In the very first box sits the girl with the red-thonged clogs, her back quite straight.";
    NARAKU_EMPTY:
"心棒の陰には、もう誰もいない。塵の上に、小さな下駄の跡だけが並んでいる。",
"There is nobody by the shaft now, only the prints of small clogs in the dust.";
    CURTAIN_CLOSED:
"三色の定式幕は、端から端まで引かれている。",
"The striped curtain is drawn, from one side to the other.";
    CURTAIN_OPEN:
"三色の定式幕は、開いたままになっている。",
"The striped curtain still stands open.";

    FINALE:
"提灯の灯を足もとに、柝を打つ。

はじめはゆっくりと、それからだんだんに細かく。すると、誰も手をかけていない幕が、柝の音に引かれるように動きだした。黒、柿、萌黄。三十年開いたままだった幕が、舞台を端から端まで渡っていく。

最後に、ひとつ。

チョン。

客席のほうで、小さな手を打つ音がした。ひとりぶんの、けれど惜しみのない拍手である。幕の脇から覗くと、いちばん前の桝に、あの女の子が座っていた。手のひらに、木札を一枚のせている。",
"With the light at your feet you begin to strike, slowly at first, then closer and closer together. And the curtain, with no hand upon it, starts to move, as if the sound itself were drawing it along. Black, persimmon, green: after thirty years it walks across the stage from one side to the other.

Then once more, alone.

Tchon.

Out in the house someone is clapping. It is only one pair of hands, small ones, but they are holding nothing back. You look round the edge of the curtain. The girl is sitting in the very first box, and on her palm lies a wooden ticket.";

    ENDING:
"木札を番台に置く。

甚兵衛は長いこと、それを手に取らなかった。

「いの一番」と、やがて老人は言った。「わしが書いて、わしが渡した札だ。幕がしまったら迎えに行く、と言うて」

「待っていますよ。いちばん前の桝で」

甚兵衛は札を裏返し、また表に返して、空いていた釘に掛けた。札掛けに、もう隙間はない。それから、三十年座った番台に両手をついて、ゆっくりと立ち上がった。

「木戸を頼む」

老人は身をかがめて、自分の木戸をくぐっていった。ほどなく客席のほうから、下駄の音がふたつ聞こえた。大きいのがひとつ、小さいのがひとつ。小さいほうは、ときどき跳ねた。

雨があがって、軒の先が白みはじめている。芝居では、終いの日を千穐楽と書く。秋の字から火を除けた、めでたい字で書くのだという。

　　——「いの一番」 幕——",
"You lay the ticket on the counter.

For a long time Jinbei does not touch it.

“First of the first,” he says at last. “I wrote that. I put it into a hand so big, and I said, when the curtain closes I’ll come and fetch you.”

“She’s waiting. In the very first box.”

He turns the ticket over, and over again, and hangs it on the bare nail. There is no gap on the board any more. Then he sets both hands on the counter where he has sat for thirty years and slowly, a joint at a time, stands up.

“Mind the wicket for me,” he says.

He stoops and goes in through his own gate. After a little while you hear clogs among the seats, two pairs of them, one heavy and one light. Every few steps the light one skips.

The rain has stopped. Under the eaves the dark is thinning to grey, and it is you, now, who are sitting at the wicket.

— The First Seat: curtain —";
    AFTER_THE_END:
"芝居はもうはねた。木戸は開いていて、朝の匂いがする。もう一度見るなら、「最初から」をどうぞ。",
"The play is over. The wicket stands open and the morning comes in. To see it again, begin again.";
}
