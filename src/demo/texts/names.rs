//! Names of places, ways, things and people, as buttons and sentences show them.

use super::Text;

texts! {
    WICKET: "木戸口", "the wicket";
    HOUSE: "平土間", "the floor of the house";
    GALLERY: "二階桟敷", "the upper gallery";
    STAGE: "舞台", "the stage";
    DRESSING: "楽屋", "the dressing room";
    NARAKU: "奈落", "the naraku";

    NORTH: "北", "north";
    SOUTH: "南", "south";
    EAST: "東", "east";
    WEST: "西", "west";
    UP: "上", "up";
    DOWN: "下", "down";

    LANTERN: "提灯", "paper lantern";
    LANTERN_LIT: "灯の入った提灯", "lighted lantern";
    CANDLE: "蝋燭", "candle";
    KEY: "小さな鍵", "small key";
    CLAPPERS: "拍子木", "clappers";
    TICKET: "「いの一番」の札", "first ticket";

    JINBEI: "甚兵衛", "Jinbei";
    GIRL: "女の子", "the girl";

    BRAZIER: "火鉢", "brazier";
    BOARD: "札掛け", "ticket board";
    RAIN: "雨", "rain";
    DOOR: "戸", "door";
    SEATS: "桝席", "boxes";
    HANAMICHI: "花道", "hanamichi";
    TRAY: "煙草盆", "tobacco tray";
    RAIL: "手すり", "polished rail";
    CURTAIN: "定式幕", "striped curtain";
    TRAP: "切り穴", "hole in the boards";
    MIRROR: "鏡台", "mirror stand";
    BOX: "柝箱", "clapper box";
    SHAFT: "心棒", "great shaft";
}
