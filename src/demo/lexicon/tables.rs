//! The tables of words: data and nothing else.
//!
//! Words stand as `words::fold` leaves them: katakana as hiragana, lower case, no apostrophes. A new
//! synonym goes here and needs no other change.

use super::{Noun, Verb};
use crate::demo::world::{Direction, Place, Thing};

use Direction::{Down, East, North, South, Up, West};
use Noun::{Around, Back, Fire, Ladder, Place as P, Theatre, Thing as T, Way, Who};
use Place::{Dressing, Gallery, House, Naraku, Stage, Wicket};
use Thing::{
    Board, Box as ClapperBox, Brazier, Candle, Clappers, Curtain, Door, Girl, Hanamichi, Jinbei,
    Key, Lantern, Mirror, Rail, Rain, Seats, Shaft, Ticket, Trap, Tray,
};

/// Words for a noun, separated by white space; the Japanese column and the English one, in which a
/// word of several parts is joined by `_`.
pub const NOUNS: &[(Noun, &str, &str)] = &[
    (
        T(Lantern),
        "提灯 提燈 ちょうちん らんぷ らんたん 行灯 あんどん 灯 灯り あかり 明かり 明り",
        "lantern paper_lantern lighted_lantern lit_lantern lamp light chochin",
    ),
    (
        T(Candle),
        "蝋燭 蠟燭 ろうそく ろう燭 燃えさし きゃんどる 和蝋燭",
        "candle candles wax stub",
    ),
    (
        T(Key),
        "鍵 かぎ 小さな鍵 きー",
        "key small_key brass_key little_key",
    ),
    (
        T(Clappers),
        "拍子木 柝 ひょうしぎ ひょうし木",
        "clappers clapper hyoshigi ki wooden_clappers pair_of_clappers",
    ),
    (
        T(Ticket),
        "札 木札 ふだ きふだ いの一番の札 いの一番 ちけっと 切符",
        "ticket first_ticket tickets wooden_ticket tag first_of_the_first fuda last_ticket missing_ticket",
    ),
    (
        T(Jinbei),
        "甚兵衛 じんべえ じんべい じんべゑ 甚兵衞 木戸番 きどばん 老人 おじいさん じいさん お爺さん 爺さん 番人 番台 おじさん",
        "jinbei keeper old_man man kidoban jinbe counter wicket_keeper gatekeeper keeper_of_the_wicket man_at_the_wicket",
    ),
    (
        T(Girl),
        "女の子 おんなのこ 子ども 子供 こども 少女 娘 むすめ お嬢さん お嬢ちゃん 嬢ちゃん 童 下駄",
        "girl child kid little_girl daughter clogs",
    ),
    (
        T(Brazier),
        "火鉢 ひばち 炭 炭火 火種 火 灰",
        "brazier coal coals fire hibachi embers ember ash flame",
    ),
    (
        T(Board),
        "札掛け 札掛 ふだかけ 掛け札 札の板 釘 くぎ",
        "board ticket_board nail bare_nail tickets_on_the_board ticket_rack",
    ),
    (T(Rain), "雨 あめ 軒 往来 通り", "rain street eaves weather"),
    (
        T(Door),
        "扉 とびら 戸 どあ 門",
        "door doors gate doorway gateway",
    ),
    (
        T(Seats),
        "桝席 桝 升席 ます席 枡席 枡 席 座布団 ざぶとん",
        "boxes seats seat cushion first_box front_box box_seats masu very_first_box rows row",
    ),
    (
        T(Hanamichi),
        "花道 はなみち",
        "hanamichi runway flower_path walkway",
    ),
    (
        T(Tray),
        "煙草盆 たばこ盆 たばこぼん 盆 引き出し ひきだし 引出し 引出 抽斗",
        "tray tobacco_tray drawer tobacco drawer_of_the_tray drawer_of_the_tobacco_tray",
    ),
    (
        T(Rail),
        "手すり 手摺 手摺り てすり 窪み",
        "rail polished_rail railing hollows",
    ),
    (
        T(Curtain),
        "定式幕 幕 まく かーてん",
        "curtain striped_curtain curtains",
    ),
    (
        T(Trap),
        "切り穴 切穴 きりあな 穴 すっぽん せり",
        "hole trap trapdoor trap_door hole_in_the_boards hole_in_the_floor hatch",
    ),
    (
        T(Mirror),
        "鏡台 鏡 きょうだい かがみ",
        "mirror mirror_stand glass looking_glass",
    ),
    (
        T(ClapperBox),
        "柝箱 箱 はこ 桐箱 桐の箱 桐の柝箱 拍子木の箱 柝の箱 錠 錠前 鍵穴 蓋",
        "box clapper_box paulownia_box lock lid case box_of_clappers long_box keyhole",
    ),
    (
        T(Shaft),
        "心棒 しんぼう 柱 廻り舞台",
        "shaft great_shaft pillar axle",
    ),
    (
        P(Wicket),
        "木戸口 木戸 きどぐち きど 入口 入り口 出口",
        "wicket entrance exit kido front wicket_gate",
    ),
    (
        P(House),
        "平土間 土間 客席 ひらどま どま",
        "floor floor_of_the_house house pit stalls auditorium hall audience",
    ),
    (
        P(Gallery),
        "二階桟敷 桟敷 二階 二階席 さじき にかい 2階",
        "gallery upper_gallery balcony upstairs second_floor",
    ),
    (P(Stage), "舞台 ぶたい すてーじ", "stage boards"),
    (
        P(Dressing),
        "楽屋 がくや",
        "dressing_room backstage dressing gakuya",
    ),
    (
        P(Naraku),
        "奈落 ならく 床下 舞台の下 地下",
        "naraku understage cellar under_the_stage below_the_stage basement underworld dark",
    ),
    (Way(North), "北 きた 奥", "north n inside in forward"),
    (Way(South), "南 みなみ", "south s"),
    (Way(East), "東 ひがし 上手", "east e"),
    (Way(West), "西 にし 下手", "west w"),
    (
        Way(Up),
        "上 うえ 上が 上る 上っ 上ろ 上り 登る 登っ 登り 登ろ あがる あがって あがり のぼる のぼって のぼり",
        "up u upwards ascend",
    ),
    (
        Way(Down),
        "下 した 下り 降りる 降りて 降りた 降りよ 降ります おりる おりて おります 下りる",
        "down d downwards downstairs descend",
    ),
    (
        Back,
        "外 そと 後ろ うしろ 元の場所 もとの場所",
        "back out outside home",
    ),
    (Ladder, "梯子 はしご 階段 かいだん", "ladder stairs steps"),
    (
        Around,
        "あたり 辺り 周り まわり 周囲 部屋 ここ 全体",
        "around room here surroundings about everything place",
    ),
    (
        Fire,
        "火事 半鐘 鐘 かじ",
        "bell fire_bell that_night thirty_years",
    ),
    (
        Theatre,
        "芝居小屋 朧座 小屋 芝居 おぼろ座 おぼろざ",
        "theatre theater oboro_za oboroza play",
    ),
    (
        Who,
        "名前 なまえ 誰 だれ どなた 何者",
        "name who who_are_you",
    ),
];

pub const JAPANESE_VERBS: &[(Verb, &str)] = &[
    (
        Verb::Look,
        "見 みる みて みた みよ みま 調べ しらべ 眺め ながめ 覗 のぞ 読 よむ よん よみ よも 確かめ たしかめ 観察 るっく 嗅 探 さがす さがし",
    ),
    (
        Verb::Take,
        "取 とる とって とり とろ 拾 ひろう ひろっ ひろい 持 もつ もって もち もと 貰 もらう もらい もらっ 受け取 うけと 掴 つかむ つかん つかみ 手に 頂",
    ),
    (
        Verb::Go,
        "行 いく いって いき いこ ゆく ゆこ 進 すすむ すすん すすみ 向か むかう むかっ 入る 入っ 入り 入ろ はいる はいっ はいり くぐ 潜 歩 あるく あるい 移動 渡る",
    ),
    (
        Verb::Leave,
        "戻 もどる もどっ もどり もどろ 帰 かえる かえり かえって 出る 出て 出よ 出ます でる でて",
    ),
    (
        Verb::Talk,
        "話 はなす はなし はなそ 聞 きく きい きこ 訊 尋 たずね 声をか 挨拶 あいさつ 呼 よぶ",
    ),
    (
        Verb::Use,
        "使 つかう つかっ つかい 用い もちい 引 ひく ひい ひき 閉 しめ 触 さわ 押 おす おし 動か うごか 試 廻 回 あたる あたって 当たる 温ま 暖ま",
    ),
    (
        Verb::Open,
        "開 あけ あく ひらく ひらい ひらき 解錠 はずす はずし 外す 外し 破 壊",
    ),
    (
        Verb::Light,
        "点 灯 ともす ともし とぼ つける つけて つけよ つけま 付け 着け 燃や 点火 移す うつす",
    ),
    (
        Verb::Strike,
        "打 うつ うち うって うと 叩 たたく たたい たたき 鳴ら ならす ならし 拍つ",
    ),
    (
        Verb::Put,
        "置 おく おい おき おこ 入れ いれ 立て たて 据え 掛け かけ 吊 差 さす さし 掲 かざ 納め 載せ のせ 挿",
    ),
    (
        Verb::Give,
        "渡す 渡し 渡そ わたす わたし わたそ 返す 返し 返そ かえす かえし かえそ あげる あげて あげよ 見せ みせ 与え 手渡",
    ),
    (Verb::Carried, "持ち物 もちもの 所持品 荷物 懐 手持ち"),
    (Verb::Sing, "歌 うた 踊 おど 舞う 演じ 唄"),
    (Verb::Harm, "殴 なぐ 蹴 ける 殺 ころす ころし 斬 切る 噛"),
    (Verb::Eat, "食 たべ 飲 のむ のん 吸う 吸っ 舐"),
    (Verb::Sit, "座る 座っ 座り 座ろ すわ 腰を"),
    (Verb::Jump, "飛 とぶ とん 跳"),
    (Verb::Wait, "待 まつ まって 休 やす 寝"),
    (
        Verb::Help,
        "ひんと 助け たすけ 手がかり 困っ わからない 分からない へるぷ どうすれば すればいい 教え おしえ",
    ),
];

pub const ENGLISH_VERBS: &[(Verb, &str)] = &[
    (
        Verb::Look,
        "look l x look_at look_in look_into look_inside look_under look_behind examine inspect read see study watch search check peer_into observe describe find smell",
    ),
    (
        Verb::Take,
        "take get grab pick_up pick fetch carry lift collect hold accept receive seize pocket obtain",
    ),
    (
        Verb::Go,
        "go walk run move climb enter head proceed travel step follow cross visit",
    ),
    (
        Verb::Leave,
        "leave return go_back come_back go_out exit step_out turn_back go_home get_out",
    ),
    (
        Verb::Talk,
        "talk talk_to talk_with speak speak_to speak_with ask chat chat_with greet call question tell",
    ),
    (Verb::Say, "say shout whisper cry"),
    (
        Verb::Use,
        "use pull draw push close turn touch try operate shut warm",
    ),
    (
        Verb::Open,
        "open unlock unseal force break pull_out pull_open",
    ),
    (Verb::Light, "light kindle ignite burn turn_on set_fire_to"),
    (
        Verb::Strike,
        "strike beat hit clap bang knock play ring sound",
    ),
    (
        Verb::Put,
        "put put_down set place set_down lay insert drop hang stand fit leave_behind put_in fix",
    ),
    (
        Verb::Give,
        "give hand return_the give_back hand_over show offer deliver pay bring present return_ticket",
    ),
    (
        Verb::Carried,
        "inventory i inv carried what_am_i_carrying what_do_i_have items",
    ),
    (Verb::Sing, "sing dance act perform hum"),
    (
        Verb::Harm,
        "kill attack punch kick fight hurt slap stab steal",
    ),
    (Verb::Eat, "eat drink smoke taste lick bite"),
    (Verb::Sit, "sit sit_down kneel"),
    (Verb::Jump, "jump leap hop fly"),
    (Verb::Wait, "wait rest z listen sleep"),
    (
        Verb::Help,
        "help hint hints what_now what_should_i_do what_do_i_do im_stuck how_do_i_play i_need_help i_am_lost im_lost dont_know_what",
    ),
];
