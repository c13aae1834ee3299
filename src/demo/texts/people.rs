//! What the two people in the theatre say.

use super::Text;

texts! {
    TALK_TO_WHOM:
"話し相手は、ここにはいない。声だけが、客席のほうへ歩いていった。",
"There is nobody here to talk to. Your voice walks off among the seats by itself.";
    SPOKEN_ALONE:
"「{}」——声に出すと、言葉は暗がりを渡り、どこかで静かに席についた。",
"“{}” The words go out over the dark, and somewhere quietly find themselves a seat.";
    SPOKEN_TO_JINBEI:
"「{}」

甚兵衛は火箸で炭を返しながら、聞いている。「そうかい。……雨の晩は、人の声がよく通るな」",
"“{}”

Jinbei listens, turning the coal with his tongs. “Is that so,” he says. “Voices carry, on a wet night.”";
    SPOKEN_TO_GIRL:
"「{}」

女の子は目をまるくして聞いてから、こくりとうなずいた。",
"“{}”

The girl listens to the end of it with round eyes, and nods.";
    GREET_JINBEI:
"「{}」

「ああ、ようおいで」と甚兵衛は言い、つい出したらしい手を引っこめた。「いや、札は帰りでよかったな」",
"“{}”

“Good evening, and welcome,” says Jinbei, and puts out his hand from habit, and draws it back. “No, that’s right. On your way out.”";
    GREET_GIRL:
"「{}」

「こんばんは」と女の子は座ったまま、行儀よく頭を下げた。",
"“{}”

“Good evening,” says the girl, and bows very properly without getting up.";

    HINT_LANTERN:
"「まずは灯だ」と甚兵衛は柱のほうへ顎をしゃくる。「そこの提灯を持っていけ。なかは、鼻をつままれてもわからん暗さだ」",
"“First of all you’ll want a light,” says Jinbei, and points with his chin. “Take that lantern off the post. In there you couldn’t see a hand that pinched you.”";
    HINT_CANDLE:
"「蝋燭かい。役者というのは、灯のそばでないと顔が描けん。楽屋の鏡の前を見てごらん。舞台の東だ」",
"“A candle? No actor can paint his face without one. Try in front of the mirror. The dressing room, east of the stage.”";
    HINT_FIRE:
"「火なら、ここにある」と甚兵衛は足もとの火鉢を少し押してよこした。「蝋燭を提灯に立てて、ここでともすといい」",
"“If it’s fire you want, it’s here.” Jinbei pushes the brazier towards you with one foot. “Candle in the lantern, lantern to the coal. Then you can go where it’s dark.”";
    HINT_NARAKU:
"「その灯があれば、奈落へ下りられるな」甚兵衛は声を落とした。「雨の晩は、床の下で下駄の音がする。わしは、この番台を離れられん。……見てきてくれんか」",
"“With that you could go down to the naraku.” Jinbei lowers his voice. “On wet nights there are clogs under the floor. And I can’t leave this seat. Would you go and look?”";
    HINT_KEY:
"「柝か。柝打ちの安は煙草好きでな、幕間にはいつも二階桟敷で一服しておった。煙草盆の引き出しに、何でも放りこむ男だった」",
"“The clappers? Yasu, who struck them, was a great one for his pipe. Every interval, up in the gallery. Anything he had in his hand went into the drawer of that tobacco tray.”";
    HINT_BOX:
"「その鍵は、楽屋の棚の柝箱のだ。柝というのは、眠らせておく箱までよく鳴るように出来とる」",
"“That’s the key to the clapper box, on the shelf in the dressing room. They built even the box so it would ring.”";
    HINT_CLAPPERS:
"「柝箱は開いたんだろう。なら、遠慮はいらん。柝は打たれるために寝ておるんだ」",
"“You’ve got the box open? Then don’t be shy. Clappers only sleep so they can be struck.”";
    HINT_FOOTLIGHT:
"「見えん芝居に幕は引けんよ」と甚兵衛。「昔は、舞台の端に灯を並べたもんだ。ひとつあればいい。足もとに置いて、それから打つ」",
"“You can’t close a curtain on a play that nobody sees,” says Jinbei. “We used to set lights along the front of the stage. One will do. Put it at your feet, and then strike.”";
    HINT_STRIKE:
"「灯は置いたか。なら、あとは舞台で柝を打つだけだ。ここで聞いておるよ」",
"“The light’s set? Then all that’s left is to strike, up there on the stage. I’ll be listening.”";
    HINT_TICKET:
"甚兵衛は、膝の上で両手を握りあわせていた。

「……いま、幕のしまる音がした。いの一番の桝を、見てきてくれ。いちばん前だ」",
"Jinbei has his hands clasped tight on his knees.

“I heard the curtain close,” he says. “The first box. Right at the front. Go and look for me.”";
    HINT_GIVE:
"「その懐のものは、何だ」甚兵衛の声がかすれた。「……見せてくれ。こちらへ、渡してくれ」",
"“What have you got there?” Jinbei’s voice has gone hoarse. “Let me see. Give it here to me.”";
    HINT_ELSEWHERE:
"迷ったら、木戸口へ戻って甚兵衛に聞いてみるといい。",
"When in doubt, go back to the wicket and ask Jinbei.";

    GIRL_FIRST:
"「しいっ」と女の子は指を立てた。「まだ、おしまいじゃないの。お芝居のとちゅうで半鐘が鳴って、みんな出ていっちゃった。幕も引かないで」

小さな両手が、何かをぎゅっと包みなおす。

「幕がしまったら迎えに来るって。だから、待ってるの。……柝の音がしないと、幕はしまらないでしょう」",
"“Shh,” says the girl, one finger up. “It isn’t finished. The fire bell rang in the middle, and everybody went out, and nobody closed the curtain.”

Her hands close more tightly on whatever is inside them.

“He said, when the curtain closes I’ll come and fetch you. So I’m waiting. But it can’t close, can it, until somebody strikes the clappers.”";
    GIRL_AGAIN:
"「柝が鳴ったら、ここから見にいくね」と女の子は言った。「でも、舞台が暗いと、なんにも見えないなあ」",
"“When I hear the clappers I’ll come up and watch,” says the girl. “Only, if the stage is all dark there’ll be nothing to see.”";
    GIRL_HAS_CLAPPERS:
"女の子は、拍子木を見て目をかがやかせた。

「それ、上で打つんだよ。灯をつけてね。お芝居って、明るいところでするものだもの」",
"The girl’s eyes shine at the sight of the clappers.

“You have to strike them up there. With a light. Plays are for when it’s light.”";
    GIRL_IN_HOUSE:
"「見た」と女の子はささやいた。「おしまいまで、見たよ。……ねえ、この札、木戸の人に返してくれる？」",
"“I saw it,” whispers the girl. “I saw it right to the end. Will you give my ticket back to the man at the wicket?”";
    GIRL_WAITS:
"「ここで待ってる」と女の子は座りなおした。「もう、すぐだもの」",
"“I’ll wait here,” says the girl, and sits up straighter. “It won’t be long now.”";

    JINBEI_ON_TICKET:
"「札は、約束だ」と甚兵衛は言う。「一枚渡せば、ひとりぶんの夜を預かったことになる。返ってくるまで、木戸番は帰れん」",
"“A ticket’s a promise,” says Jinbei. “Hand one out, and you have somebody’s evening in your keeping. Till it comes back the keeper can’t go home.”";
    JINBEI_ON_FIRE:
"「隣町の火事だった。半鐘が鳴って、みな木戸へ押し寄せた。ひとりずつ、ひとりずつと叫んでな、誰ひとり怪我はさせなんだ。……数えたよ。札が、一枚足りなかった」",
"“It was the next street burning, not us. But the bell rang, and they all came at the wicket at once. One at a time, I shouted, one at a time, and not a soul was hurt. Then I counted. I was one ticket short.”";
    JINBEI_ON_GIRL:
"甚兵衛の火箸が止まった。

「赤い鼻緒か」しばらくして、それだけ言った。「……そうか。まだ、はいておるか」",
"The tongs stop moving.

“Red thongs,” says Jinbei after a while. And then, “So. She has them on still.”";
    JINBEI_ON_GIRL_UNMET:
"「子どもの声か。……雨だろうよ」と甚兵衛は言ったが、目は奥の闇を見ていた。",
"“A child? It’ll be the rain,” says Jinbei. But he is looking past you, into the dark.";
    JINBEI_ON_CLAPPERS:
"「柝はな、上手い下手より、間だ。打たずにいるあいだが、芝居を運ぶ」",
"“With clappers it isn’t the stroke that matters,” says Jinbei, “it’s the waiting in between. That’s what carries the play.”";
    JINBEI_ON_THEATRE:
"「朧座か。建ったときは、木の香で酔うほどだった。明日には材木に戻る。なに、元が木だ。また何かになるさ」",
"“The Oboro-za? When she was new you could get drunk on the smell of the wood. Tomorrow she’ll be timber again. Well, timber she was. She’ll be something else.”";
    JINBEI_ON_HIMSELF:
"「わしか。わしは木戸番だ。ひとりに一枚、札をもらう。それだけの男だよ」",
"“Me? I keep the wicket. One person, one ticket. That’s all there is to know.”";
    GIRL_ON_JINBEI:
"「木戸の人はね」と女の子は笑った。「みんなのお顔を、覚えてるの。わたしのは、いちばんに覚えたって」",
"“The man at the wicket remembers everybody’s face,” says the girl, and smiles. “He says mine was the very first.”";
    GIRL_ON_TICKET:
"女の子は、包んだ両手を胸に引き寄せた。「これは、おしまいになってから。そういうきまりなの」",
"The girl draws her closed hands in against her chest. “Not till it’s over. That’s the rule.”";
    GIRL_ON_HERSELF:
"「名前はね、札には書いてないの」と女の子は言った。「でも、木戸の人は知ってるよ」",
"“My name isn’t on the ticket,” says the girl. “But the man at the wicket knows it.”";
    GIRL_ON_FIRE:
"「鐘はこわくなかったよ。ここにいれば見つけてくれるって、わかってたもの」",
"“The bell didn’t frighten me,” says the girl. “I knew that if I stayed I’d be found.”";
}
