//! What things and people look like when one looks closely.

use super::Text;

texts! {
    LANTERN:
"「朧」の一字を墨で書いた、小ぶりの提灯。なかの蝋燭立ては空である。",
"A small lantern with the one character for “hazy moon” brushed on its paper. The spike inside has no candle on it.";
    LANTERN_READY:
"提灯のなかには蝋燭が立ててある。あとは火だけだ。",
"The candle stands ready in the lantern. All it lacks is a flame.";
    LANTERN_LIT:
"「朧」の字が、内からの灯で春の月のように浮いている。手もとだけでなく、気持ちまで照らすような明るさだ。",
"The flame floats the brushed character on the paper like a moon in spring. It lights your hands, and somewhat more than your hands.";
    CANDLE:
"太い和蝋燭の、半分ほど残ったもの。これで眉を引いた役者が、何人もいたのだろう。",
"A thick candle of vegetable wax, half of it left. A good many eyebrows must have been painted by its light.";
    KEY:
"小指ほどの真鍮の鍵。煙草の匂いがしみている。頭に「柝」と彫ってある。",
"A brass key no longer than your little finger, smelling of tobacco. Its head is engraved with one character: “clappers”.";
    CLAPPERS:
"白樫の柝。角は打たれるたびに丸くなって、二本を合わせると、吸いつくように重なる。芝居のはじめにも、終わりにも、これが鳴る。",
"Clappers of white oak, their edges rounded by every blow they ever gave. Put together they close like two palms. Nothing on a stage begins without them, and nothing ends.";
    TICKET:
"手ずれのした小さな木札。表に「いの一番」。裏には、番台で書いたらしい律儀な字で「まくがしまつたら むかへにゆく」とある。",
"A small wooden ticket, soft from being held. On the front: First of the First. On the back, in the careful hand of someone who sits at a counter: When the curtain closes I will come and fetch you.";

    JINBEI:
"木戸番の甚兵衛。背は曲がっているが、出した手はまっすぐである。客の顔より先に、札を見る。札を見たあとは、顔を忘れないという。",
"Jinbei, keeper of the wicket. His back is bent, but the hand he holds out is straight. He looks at the ticket before the face; after the ticket, they say, he never forgets the face.";
    GIRL:
"七つばかりの女の子。足もとは赤い鼻緒の下駄。両手で何かを大事に包んでいる。",
"A girl of seven or so, in clogs with red thongs. She has both hands closed round something, as one holds a cricket.";
    GIRL_IN_HOUSE:
"いちばん前の桝で、女の子は閉じた幕を飽きずに見ている。長い芝居を終いまで見た人の、満ち足りた顔である。",
"The girl in the first box is looking at the closed curtain and not getting tired of it. She has the face of someone who has seen a long play right through to the end.";

    BRAZIER:
"灰のなかに、炭がひとつ赤く息をしている。この小屋に残った火は、これきりだ。",
"In the ash one coal is breathing, red and slow. It is the only fire left in the house.";
    BOARD:
"いろは順に、何百という木札が掛かっている。どれも一度は出ていき、帰ってきた札だ。いちばん上のいちばん右、「いの一番」の釘だけが空いている。",
"Hundreds of wooden tickets, in the order of the old alphabet. Each has gone out and come home again. Only the topmost nail at the right is bare: row I, number one, the first of the first.";
    BOARD_FULL:
"札掛けに、もう隙間はない。",
"There is no gap on the board.";
    RAIN:
"軒から落ちる雨が、簾のように往来を隠している。雨音は、遠い客席のざわめきに似ている。",
"The rain comes off the eaves like a blind let down over the street. It sounds a little like an audience, a long way off, settling in its seats.";
    DOOR:
"戸といえば、この小屋では木戸のことである。低いのは、誰もが頭を下げて入るように。狭いのは、ひとりずつ入るように。",
"The only door that counts in a theatre is the wicket. It is low so that everyone bows coming in, and narrow so that they come one by one.";
    SEATS:
"桝にはそれぞれ、いろはの札が打ってある。いちばん前は「い」の一。そこだけ座布団がひとつ、敷いたままになっている。",
"Every box has its letter and its number on a slip of wood. The nearest to the stage is row I, number one. There alone a cushion is still laid out.";
    HANAMICHI:
"役者が客のなかを通って来る道である。板に耳をつければ、まだ足音がしそうだ。",
"The road by which actors come in through the midst of the crowd. Lay an ear to the boards and you might still hear them coming.";
    TRAY:
"火入れの灰は冷えきっている。盆の底に、小さな引き出しがついている。",
"The ash in its little pot has been cold for a long time. Under the tray is a small drawer.";
    TRAY_OPEN:
"引き出しは開いていて、煙草の粉がわずかに残っている。",
"Its drawer is open. A few crumbs of tobacco are left inside.";
    RAIL:
"窪みに肘を置くと、ちょうど頬杖になる。みなここで、同じ格好で笑ったり泣いたりしたのだ。",
"Put your elbows in the hollows and your chin comes down into your hands. They all laughed like this here, and cried like this.";
    CURTAIN:
"黒、柿、萌黄の三色。開いたきり、閉じた跡がない。幕を引くのは人の手だが、人の手を動かすのは柝の音である。",
"Black, persimmon and green. The folds have set as they hung, open. Hands draw a curtain, they say, but it is the clappers that draw the hands.";
    CURTAIN_CLOSED:
"幕は端から端まで引かれて、静かに息をしている。",
"The curtain is drawn from side to side, and breathes a little, as curtains do.";
    TRAP:
"役者がせり上がってくるための穴である。梯子が一本、闇へ下りている。灯がなければ、三段目から先は見えない。",
"The hole through which ghosts and heroes used to rise. A ladder goes down it into the dark. Without a light, you cannot see past the third rung.";
    MIRROR:
"曇った鏡のなかに、少し若い自分がいるような気がする。楽屋の鏡は、もともと嘘をつくためのものだ。",
"In the clouded glass you look a little younger than you are. But a dressing-room mirror was never meant to tell the truth.";
    BOX:
"桐の細長い箱。蓋に「柝」とあり、小さな錠がおりている。",
"A long, narrow box of paulownia wood. The lid says “clappers”, and a small lock holds it shut.";
    BOX_OPEN:
"蓋の裏に「一打一会」と墨書きがある。",
"Inside the lid someone has written with a brush: each stroke once only.";
    SHAFT:
"ひと抱えではきかない欅の柱である。四人で押して、舞台をまるごと廻した。肩の当たったところが、今も黒く光っている。",
"A pillar of zelkova, more than your arms can reach around. Four men leaned on its bars and the whole stage turned. Where their shoulders went, the wood still shines black.";

    STAGE_FROM_AFAR:
"客席の先に、舞台がほの白く浮いている。",
"Beyond the seats the stage hangs pale in the gloom.";
    NARAKU_FROM_AFAR:
"のぞき込んでも、闇がのぞき返すばかりである。",
"You look down into it. The dark looks up.";
    PLACE_FROM_AFAR:
"{}は、行ってみるのがいちばん早い。",
"The best way to see {} would be to go there.";
    OUT_OF_SIGHT:
"{}は、ここからは見えない。",
"You cannot see {} from here.";
}
