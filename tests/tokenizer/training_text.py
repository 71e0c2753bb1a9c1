"""The text that the shipped tokenizers are trained on: sentences written for this purpose, in many
languages, and a generator that makes more of them. The same at every run.
"""
import random

ENGLISH = """
The harbour was quiet when the last ferry came in, and nobody waited for it.
She had written three letters that morning, and she burned two of them before noon.
It's not that he didn't know the answer; he'd simply never been asked the question.
We'll need a longer rope, a better lamp, and somebody who isn't afraid of the dark.
In the beginning there were only two machines, and they couldn't talk to each other.
The committee has decided that the meeting should be moved to Tuesday, 14 October 1997.
"You're late," said the old man, "but you're not the last." They'd been there for hours.
Nothing in the whole valley was older than the mill, which had been built before the river moved.
Temperatures fell to -12.5 degrees during the night, and the pipes froze in 1,204 houses.
A tokenizer turns text into numbers, and the numbers are what the model is trained with.
International organisations have repeatedly underestimated the misunderstanding of responsibilities.
I've seen the letters, I'm sure of it, and I'd recognise the handwriting anywhere.
The price went from $3.50 to $4,000,000 in less than ten years; nobody could explain why.
Where does the water go when the tide is out? The children asked, and the teacher laughed.
Read the manual, check the cable, restart the machine, and only then write to the list.
Every morning he walked to the station, bought a newspaper, and walked home without reading it.
They were happy there, and there were many of them, and then there were none.
Running, jumping, swimming, reading, writing: the school taught all of it, mostly outside.
"""
OTHERS = """
Der Zug nach München hat heute fünfundzwanzig Minuten Verspätung, weil die Weichen vereist sind.
Übermäßig große Straßenschilder würden die Fußgänger vor dem Rathaus nur verwirren.
Où est passée la clé de l'église ? Personne n'a rien vu, ni le garçon, ni la fenêtre ouverte.
L'été dernier, nous avons déjà mangé des crêpes à la forêt près de la rivière.
El niño pequeño corrió por la montaña mientras su abuela preparaba el desayuno.
¿Cuándo volverá el señor que vivía aquí? Mañana, quizás, o quizás nunca.
A ação começou às três da manhã, e ninguém percebeu que não havia mais pão.
Żółta łódź płynęła powoli, a dzieci wołały z brzegu; świeciło słońce.
Příliš žluťoučký kůň úpěl ďábelské ódy u řeky, kde rostly vysoké duby.
Türkiye'de İstanbul ile Iğdır arasında ışıklı bir yol var mı, diye sordu çocuk.
Một con mèo đen nằm ngủ trên mái nhà, và trời bắt đầu mưa rất to.
Утром мы пошли в лес собирать грибы, но нашли только старую лодку и две шляпы.
Вчера вечером она прочитала всю книгу и не поняла, почему все так её хвалят.
Το βιβλίο που διάβασε η Μαρία ήταν μεγάλο, και ο Οδυσσέας το ξέχασε στον σταθμό.
בבוקר הלכנו לים, והגלים היו גבוהים מאוד, אבל השמש זרחה.
ذهبت المعلمة إلى المدرسة في الصباح الباكر، ثم عادت إلى البيت مع الأطفال.
نامه‌ای که دیروز رسید هنوز روی میز است و کسی آن را نخوانده.
सुबह हम बाज़ार गए और वहाँ से ताज़े फल और सब्ज़ियाँ लेकर आए।
আমরা নদীর ধারে বসে গান শুনছিলাম, তখন বৃষ্টি শুরু হলো।
เมื่อวานนี้เราไปตลาดและซื้อผลไม้สดมากมายให้กับเพื่อนบ้าน
朝早く起きて、駅まで歩いて行きました。電車は十分遅れていました。
吾輩の机の上には、古い辞書と新しいコンピュータが並んでいる。
トークナイザーは、テキストを数字の列に変換するプログラムです。
今天早上我们去公园散步,看见很多人在湖边打太极拳。
計算機把文字變成數字,然後模型學習這些數字之間的關係。
아침에 일어나서 창문을 열었더니 눈이 많이 내리고 있었습니다.
컴퓨터는 글자를 숫자로 바꾸고 모형은 그 숫자를 배웁니다.
დილით ბაზარში წავედით და ახალი ხილი ვიყიდეთ.
Առավոտյան գնացինք այգի, որտեղ երեխաները խաղում էին։
ጠዋት ወደ ገበያ ሄድን እና ትኩስ ፍራፍሬ ገዛን።
"""
CODE = """
int main(int argc, char **argv) {
    for (size_t i = 0; i < n_items; i++) {
        if (items[i].id == wanted && !items[i].is_closed)
            return items[i].value / 2 + 0x1F;
    }
    fprintf(stderr, "%s: no such item: %d\\n", argv[0], wanted);
}
def read_rows(path, *, encoding="utf-8"):
    with open(path, encoding=encoding) as file:
        rows = [line.rstrip("\\n").split("\\t") for line in file if line.strip()]
    return {row[0]: row[1:] for row in rows}
SELECT name, COUNT(*) FROM passengers WHERE age >= 18 GROUP BY name ORDER BY 2 DESC;
<a href="https://example.org/path?query=1&other=two#part">here</a> <!-- a comment -->
{"ids": [1, 2, 3], "text": "a\\u00e9b", "special": true, "score": -1.25e-3}
#!/bin/sh
set -eu; grep -rn 'needle' /usr/share | sort -u > "$HOME/found.txt" || exit 1
"""
SUBJECTS = "the old man|my sister|a young engineer|nobody|the river|every student|the machine|our neighbour|the captain|a stranger".split("|")
VERBS = "remembers|forgot|builds|didn't see|is writing about|was looking for|has never believed|repaired|translated|understood".split("|")
OBJECTS = "the red house|two broken clocks|an unfinished letter|the northern railway|a list of numbers|the first question|some bread and cheese|the tokenizer|1,024 tickets|nothing at all".split("|")
ENDS = "in the morning|after the war|without a word|near the station|for twenty-five years|because it's raining|with a long knife|at 7:45|before they'd arrived|again and again".split("|")


def lines(kind):
    return [line for line in kind.strip("\n").split("\n") if line]


def made_sentences(n):
    rng = random.Random(1912)
    for _ in range(n):
        words = " ".join(rng.choice(part) for part in (SUBJECTS, VERBS, OBJECTS, ENDS))
        yield words[0].upper() + words[1:] + rng.choice([".", ".", "!", "?", "..."])


def english():
    return lines(ENGLISH) * 3 + list(made_sentences(300))


def everything():
    return english() + lines(OTHERS) * 3 + lines(CODE) * 2
