PRAGMA application_id = 1313232218;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'nightfuzz','m0001_value_spaces','2026-11-24 11:00:41.976561+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'nightfuzz','m0002_results','2026-11-24 11:00:41.979467+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'nightfuzz','m0003_news','2026-11-24 11:00:42.000550+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'nightfuzz','m0004_known','2026-11-24 11:00:42.000975+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'nightfuzz','m0005_constraints','2026-11-24 11:00:42.001792+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'nightfuzz','m0006_versions','2026-11-24 11:00:42.020052+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'nightfuzz','m0007_moco','2026-11-24 11:00:42.021638+00:00');
INSERT INTO "_sqlite_migrations" VALUES(8,'nightfuzz','m0008_origin','2026-11-24 11:00:42.022382+00:00');
INSERT INTO "_sqlite_migrations" VALUES(9,'nightfuzz','m0009_facts','2026-11-24 11:00:42.022851+00:00');
CREATE TABLE apis (
    target TEXT NOT NULL REFERENCES targets(key), name TEXT NOT NULL, kind TEXT NOT NULL, definition TEXT NOT NULL,
    params TEXT NOT NULL, aliases TEXT NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (target, name)
) WITHOUT ROWID;
INSERT INTO "apis" VALUES('fakelib-1','fakelib.add','function','fakelib.add(a, b)','["a","b"]','[]','4f4c8c28e17ab036ffe47ee111cd3089:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.chatter','function','fakelib.chatter(how)','["how"]','[]','c8a7eeedc6425cf1d2f112f9da421f0b:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.concat','function','fakelib.concat(parts, axis=0)','["parts","axis"]','[]','1a75553ba4822cb11eb8ab74d1b74899:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.fail','function','fakelib.fail(how)','["how"]','[]','9c66112bdbb4d8f65bd40b8a09da0aa2:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.hang_up','function','fakelib.hang_up(how)','["how"]','[]','a3807a07b1850798b777e17f38980644:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.interrupt','function','fakelib.interrupt(how)','["how"]','[]','70f2005d0ac40af420e4b61c41abd763:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.mute','function','fakelib.mute(how)','["how"]','[]','7f10fba726869e9b2e3f47c94d25cdce:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.nn.Window','class','fakelib.nn.Window(width, stride=1)','["width","stride"]','[]','5e5ad1934a0b4e770994a47fc7ba4eb1:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.outer','function','fakelib.outer(a, b)','["a","b"]','[]','b29c93ce710ffdf48c860aff00052d41:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.pool','function','fakelib.pool(x, size, ceil=False)','["x","size","ceil"]','[]','5633ab7466dbd477bfa4f85013c752f3:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.reserve','function','fakelib.reserve(count)','["count"]','[]','894c53842bb9797f583bcd6f995696c3:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.resize','function','fakelib.resize(x, size)','["x","size"]','[]','0214da27bc2b98d35db62558f086bee8:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.row_sum','function','fakelib.row_sum(x)','["x"]','[]','db5a9d76050e7320350656f62f74e201:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.scale','function','fakelib.scale(x, by)','["x","by"]','[]','d352d58b1b386fca6b29d754f1afdffd:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.scribble','function','fakelib.scribble(how)','["how"]','[]','e4f11c366b8f086b9065956a376c799a:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.switch','function','fakelib.switch(how)','["how"]','[]','5821a17a4b513bb0028fe4fde8806233:');
INSERT INTO "apis" VALUES('fakelib-1','fakelib.vanish','function','fakelib.vanish(how)','["how"]','[]','e8a617881e2336272cd7cf1b86b64535:');
CREATE TABLE argument_values (
    target TEXT NOT NULL, argument TEXT NOT NULL, type TEXT NOT NULL, api TEXT NOT NULL, digest TEXT NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (target, argument, type, api, digest)
) WITHOUT ROWID;
INSERT INTO "argument_values" VALUES('fakelib-1','a','tensor<2,float64>','fakelib.add','6b603d43a24286a9299dabc1bb392429','["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8=",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','a','tensor<2,float64>','fakelib.outer','f7186dd8211f3d29c68590d6708f3723','["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','axis','int','fakelib.concat','1240a4684403b160e6597a653a88f56c','0');
INSERT INTO "argument_values" VALUES('fakelib-1','b','tensor<2,float64>','fakelib.add','6b603d43a24286a9299dabc1bb392429','["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8=",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','b','tensor<2,float64>','fakelib.outer','f7186dd8211f3d29c68590d6708f3723','["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','by','float','fakelib.scale','54df5d629eb135e5f1b50141370ccf3e','2.5');
INSERT INTO "argument_values" VALUES('fakelib-1','ceil','bool','fakelib.pool','b30ee95ec6cda01eb712d912431fe867','true');
INSERT INTO "argument_values" VALUES('fakelib-1','count','int','fakelib.reserve','183262a1ae6456f5e586b93d795fefed','16');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.chatter','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.fail','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.hang_up','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.interrupt','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.mute','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.scribble','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.switch','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','how','int','fakelib.vanish','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','input0','tensor<1,float64>','fakelib.nn.Window','7602b19bebd9a45c314d228f74fb5c51','["T","float64",[5],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','input0','tensor<2,float64>','fakelib.nn.Window','8078ed912a16bb37ef6ff8ae5e941889','["T","float64",[3,4],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','parts','[tensor<1,float64>,tensor<1,float64>]','fakelib.concat','09a12e4b0e24c5e7610a90a8b84ac70f','["S","list",[["T","float64",[2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false],["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]]]');
INSERT INTO "argument_values" VALUES('fakelib-1','size','int','fakelib.pool','c3585b60b755fb13e6e65a16d20f1230','3');
INSERT INTO "argument_values" VALUES('fakelib-1','size','int','fakelib.resize','c33cedce35493fc82dfad8ee5206e23e','4');
INSERT INTO "argument_values" VALUES('fakelib-1','stride','int','fakelib.nn.Window','c3585b60b755fb13e6e65a16d20f1230','3');
INSERT INTO "argument_values" VALUES('fakelib-1','width','int','fakelib.nn.Window','4129e2a8044a57ce7635fd6023661cd6','2');
INSERT INTO "argument_values" VALUES('fakelib-1','x','tensor<1,float64>','fakelib.scale','db426cd5334342f7839e09afb59339e4','["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','x','tensor<1,int64>','fakelib.pool','5c51fca28be57897d179eed4e9eb45a6','["T","int64",[8],["values","0.0","1.0",0,"AAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAABgAAAAAAAAAHAAAAAAAAAA==",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','x','tensor<1,int64>','fakelib.resize','efb45b3c369c510134c7c7d55fb0977d','["T","int64",[6],["values","0.0","1.0",0,"AAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAA",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','x','tensor<2,float32>','fakelib.row_sum','f5b77b9c3dbe7e240c5a0893196cc59c','["T","float32",[4,2],["values","0.0","1.0",0,"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",null],"tensor",null,false]');
INSERT INTO "argument_values" VALUES('fakelib-1','x','tensor<2,float64>','fakelib.row_sum','f7186dd8211f3d29c68590d6708f3723','["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]');
CREATE TABLE bugs (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), signature TEXT NOT NULL,
    signature_text TEXT NOT NULL, api TEXT NOT NULL, oracle TEXT NOT NULL, kind TEXT NOT NULL, test TEXT NOT NULL,
    script TEXT NOT NULL, outcome TEXT NOT NULL, hits INTEGER NOT NULL, runs INTEGER NOT NULL,
    findings INTEGER NOT NULL, first_found TEXT NOT NULL, minimised INTEGER NOT NULL CHECK (minimised IN (0, 1)),
    status TEXT NOT NULL DEFAULT 'open', origin TEXT NOT NULL DEFAULT '', UNIQUE (target, signature)
);
INSERT INTO "bugs" VALUES(1,'fakelib-1','28d235413f2904a10ceb2902c3ff9d41','fakelib.scale: SystemError: scale returned NULL without setting an exception','fakelib.scale','crash','internal-error','[["I","fakelib.scale",[null,-1],[],null],0,17,["Random Primitive","Database Tensor Value"]]','import numpy as np
import fakelib

fakelib.scale(None, -1)
# expected: a result, or an exception that says what is wrong with the arguments
# observed: internal-error: SystemError: scale returned NULL without setting an exception
','["exception","SystemError","scale returned NULL without setting an exception",["__init__.py:scale"],0.5521758009999758]',2,2,4,'2026-11-24T11:00:47.308+00:00',1,'open','');
INSERT INTO "bugs" VALUES(2,'fakelib-1','ac486d516a81daed6db75fd0eb22da7f','fakelib.outer: RuntimeError: a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:<number>: <shape> and <shape>','fakelib.outer','crash','internal-error','[["I","fakelib.outer",[["T","float32",[1,1],["constant","0.0","0.0",0,"",null],"tensor",null,false],["T","float32",[0,1],["constant","0.0","0.0",0,"",null],"tensor",null,false]],[],null],0,11,["Empty Dimension"]]','import numpy as np
import fakelib

fakelib.outer(np.zeros((1, 1), np.float32), np.zeros((0, 1), np.float32))
# expected: a result, or an exception that says what is wrong with the arguments
# observed: internal-error: RuntimeError: a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7:…
','["exception","RuntimeError","a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: (1, 1) and (0, 1)",["__init__.py:outer"],0.584639861001051]',2,2,4,'2026-11-24T11:00:47.591+00:00',1,'fixed','');
INSERT INTO "bugs" VALUES(3,'fakelib-1','ae8d3f1d84912afb6802d5788784b880','fakelib.row_sum: SIGSEGV','fakelib.row_sum','crash','crash','[["I","fakelib.row_sum",[["T","float32",[0],["constant","0.0","0.0",0,"",null],"tensor",null,false]],[],null],0,16,["Random Tensor Shape"]]','import numpy as np
import fakelib

fakelib.row_sum(np.zeros(0, np.float32))
# expected: a result or a Python exception
# observed: crash: SIGSEGV:
','["signal","SIGSEGV","",["(fault in the null page)"],0.4047178620003251]',2,2,2,'2026-11-24T11:00:47.016+00:00',1,'open','');
INSERT INTO "bugs" VALUES(4,'fakelib-1','d080b4ddbc7f9141f623bc38c4d3b176','fakelib.resize: SIGABRT: Check failed: size <= kMaxSize (<number> vs. <number>)','fakelib.resize','crash','crash','[["I","fakelib.resize",[null,2147483649],[],null],0,14,["Database Primitive","Tensor Dtype Mutation","Random Tensor Value","Boundary Integer","Joint Dtype"]]','import numpy as np
import fakelib

fakelib.resize(None, 2**31 + 1)
# expected: a result or a Python exception
# observed: crash: SIGABRT: Check failed: size <= kMaxSize (2147483649 vs. 2147483648)
','["signal","SIGABRT","Check failed: size <= kMaxSize (2147483649 vs. 2147483648)",[],0.4312567659999331]',2,2,1,'2026-11-24T11:00:47.188+00:00',1,'known','');
INSERT INTO "bugs" VALUES(5,'fakelib-1','44b2ed0a21e0e8bca00a4b4fc8855ec2','fakelib.nn.Window: SIGSEGV','fakelib.nn.Window','crash','crash','[["I","fakelib.nn.Window",[1],[["stride",0]],["__call__",[["T","float32",[1],["constant","0.0","0.0",0,"",null],"tensor",null,false]],[]]],0,10,["Boundary Integer","Database Tensor Shape","Joint Dtype"]]','import numpy as np
import fakelib

m = fakelib.nn.Window(1, stride=0)
m(np.zeros(1, np.float32))
# expected: a result or a Python exception
# observed: crash: SIGSEGV:
','["signal","SIGSEGV","",["(fault in the null page)"],0.5388469940007781]',2,2,2,'2026-11-24T11:00:47.404+00:00',1,'open','');
INSERT INTO "bugs" VALUES(6,'fakelib-1','78a1235a1ee6b8b2dfd39d98fb664080','fakelib.concat: memory corruption','fakelib.concat','crash','crash','[["I","fakelib.concat",[1],[],null],7,0,[]]','import fakelib

fakelib.concat(1)
','["signal","SIGABRT","free(): invalid pointer",["fakelib::pool"],0.0]',5,5,1,'2026-11-24T11:00:57.618+00:00',0,'open','');
INSERT INTO "bugs" VALUES(7,'fakelib-1','de4b6e059a2955ab671c63522075c9c4','fakelib.add: SIGSEGV in fakelib::f','fakelib.add','crash','crash','[["I","fakelib.add",[1],[],null],7,0,[]]','import fakelib

fakelib.add(1)
','["signal","SIGSEGV","",["fakelib::f","(fault at a wild address)"],0.0]',5,5,1,'2026-11-24T11:00:57.635+00:00',0,'open','');
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key),
    baseline TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL,
    test TEXT NOT NULL, script TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, hits INTEGER NOT NULL,
    runs INTEGER NOT NULL, found_at TEXT NOT NULL, UNIQUE (target, baseline, signature)
);
INSERT INTO "changes" VALUES(1,'fakelib-2','fakelib-1','fakelib.add','changed','fakelib.add: changed: other values','[["I","fakelib.scale",[null,-1],[],null],0,17,["Random Primitive","Database Tensor Value"]]','print(1)
','["ok","","1",[],0.0]','["ok","","2",[],0.0]',5,5,'2026-11-24T11:00:57.617+00:00');
INSERT INTO "changes" VALUES(2,'fakelib-2','fakelib-1','fakelib.scale','regression','fakelib.scale: regression: accepted before, now SIGFPE','[["I","fakelib.scale",[null,-1],[],null],0,17,["Random Primitive","Database Tensor Value"]]','print(2)
','["ok","","1",[],0.0]','["signal","SIGFPE","",[],0.0]',5,5,'2026-11-24T11:00:57.617+00:00');
CREATE TABLE checks (
    id INTEGER PRIMARY KEY, bug INTEGER NOT NULL REFERENCES bugs(id), target TEXT NOT NULL REFERENCES targets(key),
    status TEXT NOT NULL CHECK (status IN ('shown', 'changed', 'flaky', 'clean', 'unrunnable')),
    hits INTEGER NOT NULL, runs INTEGER NOT NULL, outcome TEXT NOT NULL, checked_at TEXT NOT NULL
);
INSERT INTO "checks" VALUES(1,2,'fakelib-2','clean',0,5,'["ok","","",[],0.0]','2026-11-24T11:00:57.617+00:00');
INSERT INTO "checks" VALUES(2,2,'fakelib-3','clean',0,5,'["ok","","",[],0.0]','2026-11-24T11:00:57.617+00:00');
INSERT INTO "checks" VALUES(3,1,'fakelib-2','shown',5,5,'["exception","SystemError","scale returned NULL without setting an exception",["__init__.py:scale"],0.5521758009999758]','2026-11-24T11:00:57.617+00:00');
INSERT INTO "checks" VALUES(4,1,'fakelib-3','flaky',2,5,'["exception","SystemError","scale returned NULL without setting an exception",["__init__.py:scale"],0.5521758009999758]','2026-11-24T11:00:57.617+00:00');
CREATE TABLE constraints (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, argument TEXT NOT NULL, kind TEXT NOT NULL,
    bounds TEXT NOT NULL, text TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (target, api, argument, kind)
) WITHOUT ROWID;
CREATE TABLE dropped (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, reason)
) WITHOUT ROWID;
CREATE TABLE facts (
    target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, version INTEGER NOT NULL,
    unfinished INTEGER NOT NULL CHECK (unfinished IN (0, 1)), embedding TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (target, api)
) WITHOUT ROWID;
CREATE TABLE findings (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), run INTEGER NOT NULL REFERENCES runs(id),
    api TEXT NOT NULL, test TEXT NOT NULL, verdict TEXT NOT NULL, outcome TEXT NOT NULL, key TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'confirmed', 'flaky', 'rejected', 'duplicate')),
    reason TEXT NOT NULL DEFAULT '', hits INTEGER NOT NULL DEFAULT 0, runs INTEGER NOT NULL DEFAULT 0,
    bug INTEGER REFERENCES bugs(id), found_at TEXT NOT NULL, origin TEXT NOT NULL DEFAULT '', UNIQUE (target, key)
);
INSERT INTO "findings" VALUES(1,'fakelib-1',1,'fakelib.row_sum','[["I","fakelib.row_sum",[["T","float32",[5,0],["values","0.0","1.0",0,"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",null],"tensor",null,false]],[],null],5434720893595505199,16,["Random Tensor Shape"]]','["crash","crash","cpu: segmentation fault (SIGSEGV)"]','["signal","SIGSEGV","",[],0.0]','3369b02a2a9e600eee1733219cb74a42','confirmed','',2,2,3,'2026-11-24T11:00:47.016+00:00','');
INSERT INTO "findings" VALUES(2,'fakelib-1',1,'fakelib.row_sum','[["I","fakelib.row_sum",[["T","float64",[0,29],["uniform","-1.0","1.0",34902,"",null],"tensor",null,false]],[],null],7464577493866147258,16,["Random Tensor Value","Random Tensor Shape","Joint Dtype"]]','["crash","crash","cpu: segmentation fault (SIGSEGV)"]','["signal","SIGSEGV","",[],0.0]','b2c5ebe70117efa04367b7a6a777b898','duplicate','like finding 1',0,0,3,'2026-11-24T11:00:47.104+00:00','');
INSERT INTO "findings" VALUES(3,'fakelib-1',1,'fakelib.resize','[["I","fakelib.resize",[["T","int32",[6],["uniform","-2147483648.0","2147483647.0",61371,"",null],"tensor",null,false],4294967296],[],null],4100218925073732414,14,["Database Primitive","Tensor Dtype Mutation","Random Tensor Value","Boundary Integer","Joint Dtype"]]','["crash","crash","cpu: failed check (SIGABRT)"]','["signal","SIGABRT","Check failed: size <= kMaxSize (4294967296 vs. 2147483648)\n",[],0.0]','658d34d73cc982bbc5ea94188f24c925','confirmed','',2,2,4,'2026-11-24T11:00:47.188+00:00','');
INSERT INTO "findings" VALUES(4,'fakelib-1',1,'fakelib.outer','[["I","fakelib.outer",[["T","float16",[4,1],["constant","1.0","1.0",0,"",null],"tensor",null,false],["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]],[],null],7236813133995850343,11,["One Contents","Tensor Dtype Mutation","Random Tensor Shape"]]','["crash","internal-error","cpu: RuntimeError"]','["exception","RuntimeError","a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: (4, 1) and (2, 3)",["outer (/repo/tests/common/fakelib/__init__.py:115)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],0.00021361599829106126]','366fa8598de05fb7771c43f20e4ad4a7','duplicate','like finding 11',0,0,2,'2026-11-24T11:00:47.240+00:00','');
INSERT INTO "findings" VALUES(5,'fakelib-1',1,'fakelib.outer','[["I","fakelib.outer",[["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]],[],null],2502109627357520548,11,["Database Tensor Shape"]]','["crash","internal-error","cpu: RuntimeError"]','["exception","RuntimeError","a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: (2, 3) and (2, 2)",["outer (/repo/tests/common/fakelib/__init__.py:115)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],6.687899985990953e-05]','5d65357d54a510bc3197e3f0dfc9efa2','duplicate','like finding 11',0,0,2,'2026-11-24T11:00:47.240+00:00','');
INSERT INTO "findings" VALUES(6,'fakelib-1',1,'fakelib.scale','[["I","fakelib.scale",[["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false],-1.0164861431845784e-06],[],null],861469383267050897,17,["Random Primitive","Database Tensor Value"]]','["crash","internal-error","cpu: SystemError"]','["exception","SystemError","scale returned NULL without setting an exception",["scale (/repo/tests/common/fakelib/__init__.py:126)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],3.739600106200669e-05]','f91026ba2b3d481a0f8fc8ea96fd51fa','confirmed','',2,2,1,'2026-11-24T11:00:47.308+00:00','');
INSERT INTO "findings" VALUES(7,'fakelib-1',1,'fakelib.scale','[["I","fakelib.scale",[["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],-0.35295503469120115],[],null],2989591855723777691,17,["Random Primitive"]]','["crash","internal-error","cpu: SystemError"]','["exception","SystemError","scale returned NULL without setting an exception",["scale (/repo/tests/common/fakelib/__init__.py:126)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],1.4811999790254049e-05]','7f9d4ee4fa14c3a3f5f314da61449148','duplicate','like finding 6',0,0,1,'2026-11-24T11:00:47.308+00:00','');
INSERT INTO "findings" VALUES(8,'fakelib-1',1,'fakelib.nn.Window','[["I","fakelib.nn.Window",[2],[["stride",0]],["__call__",[["T","float16",[3],["values","0.0","1.0",0,"ADwAPAA8ADwAPA==",null],"tensor",null,false]],[]]],16173737018333893,10,["Boundary Integer","Database Tensor Shape","Joint Dtype"]]','["crash","crash","cpu: segmentation fault (SIGSEGV)"]','["signal","SIGSEGV","",[],0.0]','88941f108a06a197c035ac0f505af695','confirmed','',2,2,5,'2026-11-24T11:00:47.404+00:00','');
INSERT INTO "findings" VALUES(9,'fakelib-1',1,'fakelib.nn.Window','[["I","fakelib.nn.Window",[2],[["stride",0]],["__call__",[["T","float64",[5],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false]],[]]],8466802702106495942,10,["Boundary Integer"]]','["crash","crash","cpu: segmentation fault (SIGSEGV)"]','["signal","SIGSEGV","",[],0.0]','f004bef1d1655f7ac1e2bafe587177b8','duplicate','like finding 8',0,0,5,'2026-11-24T11:00:47.500+00:00','');
INSERT INTO "findings" VALUES(10,'fakelib-1',1,'fakelib.outer','[["I","fakelib.outer",[["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],["T","float64",[2,3],["constant","-inf","1.0",0,"",null],"tensor",null,false]],[],null],5525628463399071019,11,["Database Tensor Shape","Infinity Contents"]]','["crash","internal-error","cpu: RuntimeError"]','["exception","RuntimeError","a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: (2, 2) and (2, 3)",["outer (/repo/tests/common/fakelib/__init__.py:115)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],4.921300023852382e-05]','03b1dffb7ebbcf1de4da5dda365702f4','duplicate','like finding 11',0,0,2,'2026-11-24T11:00:47.584+00:00','');
INSERT INTO "findings" VALUES(11,'fakelib-1',1,'fakelib.outer','[["I","fakelib.outer",[["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],["T","float64",[0,3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]],[],null],522050792362309801,11,["Empty Dimension"]]','["crash","internal-error","cpu: RuntimeError"]','["exception","RuntimeError","a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: (2, 3) and (0, 3)",["outer (/repo/tests/common/fakelib/__init__.py:115)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],3.820700112555642e-05]','1e8bcc0037231521508b0b0131675ae3','confirmed','',2,2,2,'2026-11-24T11:00:47.591+00:00','');
INSERT INTO "findings" VALUES(12,'fakelib-1',1,'fakelib.scale','[["I","fakelib.scale",[["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],-0.5324221845927142],[],null],700421238991107275,17,["Tensor Dtype Mutation","Random Primitive","Tensor Dtype Mutation","Joint Dtype"]]','["crash","internal-error","cpu: SystemError"]','["exception","SystemError","scale returned NULL without setting an exception",["scale (/repo/tests/common/fakelib/__init__.py:126)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],5.854600021848455e-05]','788ca05d31131e1158e0af66f65b2edf','duplicate','like finding 6',0,0,1,'2026-11-24T11:00:47.638+00:00','');
INSERT INTO "findings" VALUES(13,'fakelib-1',1,'fakelib.scale','[["I","fakelib.scale",[["T","float64",[3],["constant","-1.7976931348623157e+308","1.0",0,"",null],"tensor",null,false],-0.5172940991808395],[],null],3201280151739698028,17,["Primitive Mutation","Random Primitive","Other Type Elsewhere","Extreme Contents","Random Primitive"]]','["crash","internal-error","cpu: SystemError"]','["exception","SystemError","scale returned NULL without setting an exception",["scale (/repo/tests/common/fakelib/__init__.py:126)","timed (/repo/fuzz_core/adapters/building.py:125)","call (/repo/fuzz_core/adapters/building.py:99)","run (/repo/fuzz_core/adapters/modes.py:104)","run (/repo/fuzz_core/worker/execution.py:187)"],3.204700078640599e-05]','f3add19588394a37cbd98848887396e6','duplicate','like finding 6',0,0,1,'2026-11-24T11:00:47.638+00:00','');
INSERT INTO "findings" VALUES(14,'fakelib-1',2,'fakelib.concat','[["I","fakelib.concat",[1],[],null],7,0,[]]','["crash","crash","cpu: SIGABRT"]','["signal","SIGABRT","free(): invalid pointer",["fakelib::pool"],0.0]','0eeeb0339c1c052d4957c6c209447bac','confirmed','',0,0,6,'2026-11-24T11:00:57.618+00:00','');
INSERT INTO "findings" VALUES(15,'fakelib-1',2,'fakelib.add','[["I","fakelib.add",[1],[],null],7,0,[]]','["crash","crash","cpu: SIGSEGV"]','["signal","SIGSEGV","",["fakelib::f","(fault at a wild address)"],0.0]','df8bb1efcf3e281659e9cefbbc32bb06','confirmed','',0,0,7,'2026-11-24T11:00:57.635+00:00','');
INSERT INTO "findings" VALUES(16,'fakelib-1',2,'fakelib.pool','[["I","fakelib.pool",[1],[],null],8,0,[]]','["crash","crash","cpu: SIGSEGV"]','["signal","SIGSEGV","",[],0.0]','9e0a2a66276da4a14ebb6959b956904b','pending','',0,0,NULL,'2026-11-24T11:00:57.636+00:00','');
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, digest TEXT NOT NULL,
    body TEXT NOT NULL, expected TEXT NOT NULL CHECK (expected IN ('ok', 'exception')),
    valid INTEGER CHECK (valid IN (0, 1)), reason TEXT NOT NULL DEFAULT '', UNIQUE (target, digest)
);
INSERT INTO "invocations" VALUES(1,'fakelib-1','fakelib.add','9bf1c6bea16e25c794592ec5ef509278','["I","fakelib.add",[["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8=",null],"tensor",null,false],["T","float64",[2,2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8=",null],"tensor",null,false]],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(2,'fakelib-1','fakelib.chatter','282e36acc9dc130944b0a932be941e2e','["I","fakelib.chatter",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(3,'fakelib-1','fakelib.concat','0aa5696239b1b2406565dd6488a1cb4f','["I","fakelib.concat",[["S","list",[["T","float64",[2],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false],["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]]]],[["axis",0]],null]','ok',1,'');
INSERT INTO "invocations" VALUES(4,'fakelib-1','fakelib.fail','1f737400ad1cc44fcc1df35dd6136926','["I","fakelib.fail",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(5,'fakelib-1','fakelib.hang_up','755f8b0b7f9ae3592c81168d1db8c232','["I","fakelib.hang_up",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(6,'fakelib-1','fakelib.interrupt','051b5ccc81522e166a8770045ef5b7a5','["I","fakelib.interrupt",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(7,'fakelib-1','fakelib.mute','1ecd3063719f3a8088497b41aa849091','["I","fakelib.mute",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(8,'fakelib-1','fakelib.nn.Window','ab672b4379b323da0e036becb10ac2c1','["I","fakelib.nn.Window",[2],[["stride",3]],null]','ok',1,'');
INSERT INTO "invocations" VALUES(9,'fakelib-1','fakelib.nn.Window','c997eb61665f6fcc3e201d98f74b7a7c','["I","fakelib.nn.Window",[2],[["stride",3]],["__call__",[["T","float64",[3,4],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]],[]]]','ok',1,'');
INSERT INTO "invocations" VALUES(10,'fakelib-1','fakelib.nn.Window','59daadd32be3b09a3571a485441ac3e7','["I","fakelib.nn.Window",[2],[["stride",3]],["__call__",[["T","float64",[5],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw==",null],"tensor",null,false]],[]]]','ok',1,'');
INSERT INTO "invocations" VALUES(11,'fakelib-1','fakelib.outer','dd457f109b209814a26bbe973ced1b2f','["I","fakelib.outer",[["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",null],"tensor",null,false]],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(12,'fakelib-1','fakelib.pool','8ddc5ede0a0d3d1bd9356c8621e1b2de','["I","fakelib.pool",[["T","int64",[8],["values","0.0","1.0",0,"AAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAABgAAAAAAAAAHAAAAAAAAAA==",null],"tensor",null,false],3],[["ceil",true]],null]','ok',1,'');
INSERT INTO "invocations" VALUES(13,'fakelib-1','fakelib.reserve','f93e6f9dc8dcf212224ef86ed1f81869','["I","fakelib.reserve",[16],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(14,'fakelib-1','fakelib.resize','f46ffa54d86b7d0599b210795349de4e','["I","fakelib.resize",[["T","int64",[6],["values","0.0","1.0",0,"AAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAA",null],"tensor",null,false],4],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(15,'fakelib-1','fakelib.row_sum','442a73ecad6b14aad53f8801c0725141','["I","fakelib.row_sum",[["T","float64",[2,3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false]],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(16,'fakelib-1','fakelib.row_sum','adffa1b64bb0052e1c909bc73c14b3ab','["I","fakelib.row_sum",[["T","float32",[4,2],["values","0.0","1.0",0,"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",null],"tensor",null,false]],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(17,'fakelib-1','fakelib.scale','323d06e3a03596d77846d4687b6465a1','["I","fakelib.scale",[["T","float64",[3],["values","0.0","1.0",0,"AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/",null],"tensor",null,false],2.5],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(18,'fakelib-1','fakelib.scribble','2d92301eb40b11f3c895fc7bdd85cf22','["I","fakelib.scribble",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(19,'fakelib-1','fakelib.switch','7df604c39a343a7a7c2d86ffce7f07ad','["I","fakelib.switch",[2],[],null]','ok',1,'');
INSERT INTO "invocations" VALUES(20,'fakelib-1','fakelib.vanish','01a30e2d397201039f7e103c18ee0140','["I","fakelib.vanish",[2],[],null]','ok',1,'');
CREATE TABLE known_matches (
    entry TEXT NOT NULL, bug INTEGER NOT NULL REFERENCES bugs(id), findings INTEGER NOT NULL, last_seen TEXT NOT NULL,
    PRIMARY KEY (entry, bug)
) WITHOUT ROWID;
INSERT INTO "known_matches" VALUES('shipped: fakelib resize',4,3,'2026-11-24T11:00:57.617+00:00');
CREATE TABLE moco_nodes (
    tree INTEGER NOT NULL, number INTEGER NOT NULL, parent INTEGER, level INTEGER NOT NULL,
    block INTEGER, api TEXT NOT NULL, call TEXT NOT NULL, operator TEXT NOT NULL, parameter TEXT NOT NULL,
    old TEXT NOT NULL, new TEXT NOT NULL, line INTEGER NOT NULL, positive INTEGER NOT NULL CHECK (positive IN (0, 1)),
    base INTEGER, equivalence TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL,
    kept INTEGER CHECK (kept IN (0, 1)), arrives TEXT NOT NULL, PRIMARY KEY (tree, number)
) WITHOUT ROWID;
CREATE TABLE moco_trees (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), program TEXT NOT NULL, digest TEXT NOT NULL,
    seed TEXT NOT NULL, options TEXT NOT NULL, begun TEXT NOT NULL
);
CREATE TABLE news (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), api TEXT NOT NULL, class TEXT NOT NULL,
    test TEXT, UNIQUE (target, api, class)
);
INSERT INTO "news" VALUES(1,'fakelib-1','fakelib.row_sum','ok (''float64'', dtype(''float64''), 0)','[["I", "fakelib.row_sum", [["T", "float64", [], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false]], [], null], 715389239467558636, 15, ["Scalar Tensor"]]');
INSERT INTO "news" VALUES(2,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''float32''), 1)','[["I", "fakelib.row_sum", [["T", "float32", [4, 2], ["values", "0.0", "1.0", 0, "AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=", "inf"], "tensor", null, false]], [], null], 6555015591068239108, 16, ["Infinity Contents"]]');
INSERT INTO "news" VALUES(3,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''float64''), 1)','[["I", "fakelib.row_sum", [["T", "float64", [3, 3], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false]], [], null], 8226507189527049066, 15, ["Joint Dimension"]]');
INSERT INTO "news" VALUES(4,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''complex128''), 1)','[["I", "fakelib.row_sum", [["T", "complex128", [4, 2], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAAAAAAAAAAAAAPA/AAAAAAAAAAAAAAAAAADwPwAAAAAAAAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAPA/AAAAAAAAAAAAAAAAAADwPwAAAAAAAAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAPA/AAAAAAAAAAA=", null], "tensor", null, false]], [], null], 6592471980565753801, 16, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(5,'fakelib-1','fakelib.row_sum','ok (''int64'', dtype(''int64''), 0)','[["I", "fakelib.row_sum", [["T", "int64", [8], ["values", "0.0", "1.0", 0, "AAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAUAAAAAAAAABgAAAAAAAAAHAAAAAAAAAA==", null], "tensor", null, false]], [], null], 2660653216630235150, 15, ["Zero Contents", "Other Type Elsewhere"]]');
INSERT INTO "news" VALUES(6,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''uint64''), 1)','[["I", "fakelib.row_sum", [["T", "uint32", [3, 5], ["values", "0.0", "1.0", 0, "AQAAAAEAAAABAAAAAQAAAAEAAAABAAAAAQAAAAEAAAA=", null], "tensor", null, false]], [], null], 4260683745550345229, 16, ["Tensor Dtype Mutation", "Random Tensor Shape"]]');
INSERT INTO "news" VALUES(7,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''float16''), 1)','[["I", "fakelib.row_sum", [["T", "float16", [5, 2], ["values", "0.0", "1.0", 0, "ADwAPAA8ADwAPAA8ADwAPA==", null], "tensor", null, false]], [], null], 2194578436911461603, 16, ["Resized Dimension", "Joint Dtype"]]');
INSERT INTO "news" VALUES(8,'fakelib-1','fakelib.row_sum','exception TypeError row_sum# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(9,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''complex64''), 1)','[["I", "fakelib.row_sum", [["T", "complex64", [8, 3], ["values", "0.0", "1.0", 0, "AACAPwAAAAAAAIA/AAAAAAAAgD8AAAAAAACAPwAAAAAAAIA/AAAAAAAAgD8AAAAAAACAPwAAAAAAAIA/AAAAAA==", null], "tensor", null, false]], [], null], 6518357032542507580, 16, ["Tensor Dtype Mutation", "Random Tensor Shape", "Random Tensor Shape"]]');
INSERT INTO "news" VALUES(10,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''int64''), 1)','[["I", "fakelib.row_sum", [["T", "bool", [2, 3], ["values", "0.0", "1.0", 0, "AQEBAQEB", null], "tensor", null, false]], [], null], 8864183776938768836, 15, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(11,'fakelib-1','fakelib.row_sum','ok (''ndarray'', dtype(''float64''), 4)','[["I", "fakelib.row_sum", [["T", "float64", [6, 5, 56, 5, 3], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false]], [], null], 4820036614867048336, 15, ["Tensor Dim Mutation", "Random Tensor Shape"]]');
INSERT INTO "news" VALUES(12,'fakelib-1','fakelib.row_sum','ok (''float32'', dtype(''float32''), 0)','[["I", "fakelib.row_sum", [["T", "float32", [1], ["uniform", "0.5", "4.0", 8289, "", null], "tensor", null, false]], [], null], 8904148886039862482, 16, ["Tensor Dim Mutation", "Random Tensor Shape", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(13,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''int64''), 1)','[["I", "fakelib.resize", [["T", "int64", [6], ["constant", "1000.0", "1.0", 0, "", null], "tensor", null, false], 4], [], null], 596287421440223925, 14, ["Large Index Contents"]]');
INSERT INTO "news" VALUES(14,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''uint8''), 1)','[["I", "fakelib.resize", [["T", "uint8", [4], ["uniform", "-2147483648.0", "2147483647.0", 6056, "", null], "tensor", null, false], 4], [], null], 5701122987858050100, 14, ["Tensor Dtype Mutation", "Random Tensor Shape", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(15,'fakelib-1','fakelib.resize','exception ValueError size must lie between # and #, not #',NULL);
INSERT INTO "news" VALUES(16,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''int16''), 1)','[["I", "fakelib.resize", [["T", "int16", [6], ["values", "0.0", "1.0", 0, "AAABAAIAAwAEAAUA", null], "tensor", null, false], 4], [], null], 3236852473632637360, 14, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(17,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''float64''), 1)','[["I", "fakelib.resize", [["T", "float64", [6], ["uniform", "0.0", "1.0", 62336, "", null], "tensor", null, false], 4], [], null], 3067451843331559284, 14, ["Tensor Dtype Mutation", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(18,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''int32''), 1)','[["I", "fakelib.resize", [["T", "int32", [6], ["values", "0.0", "1.0", 0, "AAAAAAEAAAACAAAAAwAAAAQAAAAFAAAA", null], "tensor", null, false], 4], [], null], 534012934736183288, 14, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(19,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''float16''), 1)','[["I", "fakelib.resize", [["T", "float16", [6], ["constant", "0.0", "1.0", 0, "", null], "tensor", null, false], 4], [], null], 8595511357541828793, 14, ["Zero Contents", "Joint Dtype"]]');
INSERT INTO "news" VALUES(20,'fakelib-1','fakelib.resize','exception TypeError # object is not iterable',NULL);
INSERT INTO "news" VALUES(21,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''int8''), 1)','[["I", "fakelib.resize", [["T", "int8", [1], ["uniform", "0.0", "5.0", 48524, "", null], "tensor", null, false], 4], [], null], 5233685862840321970, 14, ["Random Tensor Shape", "Redrawn Contents", "Joint Dtype"]]');
INSERT INTO "news" VALUES(22,'fakelib-1','fakelib.resize','exception TypeError an integer is required',NULL);
INSERT INTO "news" VALUES(23,'fakelib-1','fakelib.resize','exception TypeError # not supported between instances of # and #',NULL);
INSERT INTO "news" VALUES(24,'fakelib-1','fakelib.outer','exception RuntimeError a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:#: # and #',NULL);
INSERT INTO "news" VALUES(25,'fakelib-1','fakelib.outer','ok (''ndarray'', dtype(''float64''), 4)','[["I", "fakelib.outer", [["T", "float64", [3, 3], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false], ["T", "float64", [3, 3], ["values", "0.0", "1.0", 0, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", null], "tensor", null, false]], [], null], 1495192234698338298, 11, ["Joint Dimension"]]');
INSERT INTO "news" VALUES(26,'fakelib-1','fakelib.outer','exception ValueError both must have the same number of dimensions',NULL);
INSERT INTO "news" VALUES(27,'fakelib-1','fakelib.outer','ok (''ndarray'', dtype(''complex128''), 4)','[["I", "fakelib.outer", [["T", "complex128", [2, 3], ["uniform", "-1.0", "1.0", 21194, "", null], "tensor", null, false], ["T", "float64", [2, 3], ["values", "0.0", "1.0", 0, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", null], "tensor", null, false]], [], null], 916067246534160450, 11, ["Tensor Dtype Mutation", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(28,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''float64''), 1)','[["I", "fakelib.scale", [["T", "float64", [3], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false], 2.5], [], null], 8884730627440084004, 17, ["Primitive Mutation", "Random Primitive", "Other Type Elsewhere"]]');
INSERT INTO "news" VALUES(29,'fakelib-1','fakelib.scale','exception SystemError scale returned NULL without setting an exception',NULL);
INSERT INTO "news" VALUES(30,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''complex128''), 1)','[["I", "fakelib.scale", [["T", "complex128", [3], ["constant", "0.0", "1.0", 0, "", null], "tensor", null, false], -0.0], [], null], 6251359522700939082, 17, ["Zero Contents", "Boundary Float", "Joint Dtype"]]');
INSERT INTO "news" VALUES(31,'fakelib-1','fakelib.scale','exception TypeError # not supported between instances of # and #',NULL);
INSERT INTO "news" VALUES(32,'fakelib-1','fakelib.scale','exception TypeError scale# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(33,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''complex64''), 1)','[["I", "fakelib.scale", [["T", "complex64", [3], ["values", "0.0", "1.0", 0, "AACAPwAAAAAAAIA/AAAAAAAAgD8AAAAA", null], "tensor", null, false], 5e-324], [], null], 5606180668720330527, 17, ["Boundary Float", "Joint Dtype"]]');
INSERT INTO "news" VALUES(34,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''float64''), 6)','[["I", "fakelib.scale", [["T", "float64", [1, 1, 3, 4, 1, 1], ["uniform", "-1000.0", "1000.0", 38735, "", null], "tensor", null, false], false], [], null], 7503469969185372768, 17, ["Tensor Dim Mutation", "Random Tensor Value", "Primitive Mutation", "Random Primitive"]]');
INSERT INTO "news" VALUES(35,'fakelib-1','fakelib.scale','ok (''float64'', dtype(''float64''), 0)','[["I", "fakelib.scale", [["T", "float64", [], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false], 2.5], [], null], 631764276852613648, 17, ["Scalar Tensor"]]');
INSERT INTO "news" VALUES(36,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''float32''), 1)','[["I", "fakelib.scale", [["T", "float32", [3], ["values", "0.0", "1.0", 0, "AACAPwAAgD8AAIA/", null], "tensor", null, false], 2.5], [], null], 9204045277060734109, 17, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(37,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''float64''), 5)','[["I", "fakelib.scale", [["T", "int32", [1, 4, 1, 2, 3], ["uniform", "0.0", "9.0", 53305, "", null], "tensor", null, false], 2.5], [], null], 6297270062001534948, 17, ["Tensor Dtype Mutation", "Random Tensor Value", "Random Primitive", "Tensor Dim Mutation", "Random Tensor Value", "Database Primitive"]]');
INSERT INTO "news" VALUES(38,'fakelib-1','fakelib.add','ok (''ndarray'', dtype(''float64''), 2)','[["I", "fakelib.add", [["T", "float64", [4, 4], ["constant", "1.0", "1.0", 0, "", null], "tensor", null, false], ["T", "float64", [4, 4], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8=", null], "tensor", null, false]], [], null], 4944408045916853477, 1, ["One Contents", "Joint Dimension"]]');
INSERT INTO "news" VALUES(39,'fakelib-1','fakelib.add','ok (''ndarray'', dtype(''float32''), 2)','[["I", "fakelib.add", [["T", "float32", [2, 2], ["values", "0.0", "1.0", 0, "AACAPwAAgD8AAIA/AACAPw==", null], "tensor", null, false], ["T", "float32", [2, 2], ["values", "0.0", "1.0", 0, "AACAPwAAgD8AAIA/AACAPw==", "nan"], "tensor", null, false]], [], null], 2852172196964416870, 1, ["NaN Contents", "Joint Dtype"]]');
INSERT INTO "news" VALUES(40,'fakelib-1','fakelib.add','exception ValueError shapes # and # differ',NULL);
INSERT INTO "news" VALUES(41,'fakelib-1','fakelib.add','ok (''ndarray'', dtype(''complex128''), 2)','[["I", "fakelib.add", [["T", "float64", [2, 2], ["constant", "1.0", "1.0", 0, "", null], "tensor", null, false], ["T", "complex64", [2, 2], ["constant", "1.0", "1.0", 0, "", null], "tensor", null, false]], [], null], 3565138153305264269, 1, ["One Contents", "Tensor Dtype Mutation", "Random Tensor Value", "One Contents", "Joint Dtype"]]');
INSERT INTO "news" VALUES(42,'fakelib-1','fakelib.add','exception TypeError add# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(43,'fakelib-1','fakelib.nn.Window','exception TypeError # not supported between instances of # and #',NULL);
INSERT INTO "news" VALUES(44,'fakelib-1','fakelib.nn.Window','exception ValueError width must be positive and stride not negative',NULL);
INSERT INTO "news" VALUES(45,'fakelib-1','fakelib.nn.Window','ok (''Window'', None, None)','[["I", "fakelib.nn.Window", [2], [["stride", 1]], null], 2377102457292130428, 8, ["Random Primitive"]]');
INSERT INTO "news" VALUES(46,'fakelib-1','fakelib.nn.Window','ok (''ndarray'', dtype(''uint8''), 2)','[["I", "fakelib.nn.Window", [49], [["stride", 3]], ["__call__", [["T", "uint8", [1, 3], ["uniform", "0.5", "4.0", 24675, "", null], "tensor", null, false]], []]], 5969413562667781924, 9, ["Random Tensor Value", "Random Primitive", "Tensor Dtype Mutation", "Random Tensor Shape"]]');
INSERT INTO "news" VALUES(47,'fakelib-1','fakelib.nn.Window','ok (''ndarray'', dtype(''float64''), 1)','[["I", "fakelib.nn.Window", [2], [["stride", 3]], ["__call__", [["T", "float64", [1], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw==", null], "tensor", null, false]], []]], 2755319195274722323, 10, ["Unit Dimension"]]');
INSERT INTO "news" VALUES(48,'fakelib-1','fakelib.nn.Window','ok (''ndarray'', dtype(''float64''), 2)','[["I", "fakelib.nn.Window", [2], [["stride", 3]], ["__call__", [["T", "float64", [3, 5], ["values", "0.0", "1.0", 0, "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", null], "tensor", null, false]], []]], 8194241762744852821, 9, ["Joint Dimension"]]');
INSERT INTO "news" VALUES(49,'fakelib-1','fakelib.nn.Window','ok (''ndarray'', dtype(''int64''), 2)','[["I", "fakelib.nn.Window", [2], [["stride", 3]], ["__call__", [["T", "int64", [2, 8], ["constant", "1.7976931348623157e+308", "1.0", 0, "", null], "tensor", null, false]], []]], 6569189672646173204, 9, ["Extreme Contents", "Tensor Dtype Mutation", "Random Tensor Shape"]]');
INSERT INTO "news" VALUES(50,'fakelib-1','fakelib.nn.Window','ok (''ndarray'', dtype(''int8''), 2)','[["I", "fakelib.nn.Window", [2], [["stride", 3]], ["__call__", [["T", "int8", [2, 8], ["constant", "1.7976931348623157e+308", "1.0", 0, "", null], "tensor", null, false]], []]], 5926098653075435787, 9, ["Extreme Contents", "Tensor Dtype Mutation", "Random Tensor Shape", "Joint Dtype"]]');
INSERT INTO "news" VALUES(51,'fakelib-1','fakelib.nn.Window','exception TypeError Window.__init__# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(52,'fakelib-1','fakelib.nn.Window','exception OverflowError Python integer # out of bounds for int#',NULL);
INSERT INTO "news" VALUES(53,'fakelib-1','fakelib.concat','ok (''ndarray'', dtype(''float64''), 1)','[["I", "fakelib.concat", [["S", "list", [["T", "float64", [2], ["uniform", "0.0", "1.0", 65353, "", null], "tensor", null, false], ["T", "float64", [3], ["uniform", "-1000000.0", "1000000.0", 47583, "", null], "tensor", null, false]]]], [["axis", 0]], null], 7500426443016955597, 3, ["Random List", "Random List"]]');
INSERT INTO "news" VALUES(54,'fakelib-1','fakelib.concat','exception ValueError axis True is out of range',NULL);
INSERT INTO "news" VALUES(55,'fakelib-1','fakelib.concat','exception TypeError concat# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(56,'fakelib-1','fakelib.concat','ok (''ndarray'', dtype(''float32''), 1)','[["I", "fakelib.concat", [["S", "list", [["T", "float32", [3], ["values", "0.0", "1.0", 0, "AAAAAAAAAAAAAAAA", null], "tensor", null, false]]]], [["axis", 0]], null], 3177329908613524536, 3, ["Drop Element", "Joint Dtype"]]');
INSERT INTO "news" VALUES(57,'fakelib-1','fakelib.concat','exception TypeError # not supported between instances of # and #',NULL);
INSERT INTO "news" VALUES(58,'fakelib-1','fakelib.concat','exception ValueError axis # is out of range',NULL);
INSERT INTO "news" VALUES(59,'fakelib-1','fakelib.concat','exception ValueError axis None is out of range',NULL);
INSERT INTO "news" VALUES(60,'fakelib-1','fakelib.concat','ok (''ndarray'', dtype(''int64''), 1)','[["I", "fakelib.concat", [["S", "list", [["T", "int64", [2], ["values", "0.0", "1.0", 0, "AQAAAAAAAAABAAAAAAAAAA==", null], "tensor", null, false], ["T", "int64", [3], ["values", "0.0", "1.0", 0, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", null], "tensor", null, false]]]], [["axis", 0]], null], 8500712109298819716, 3, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(61,'fakelib-1','fakelib.concat','ok (''ndarray'', dtype(''float16''), 1)','[["I", "fakelib.concat", [["S", "list", [["T", "float16", [2], ["values", "0.0", "1.0", 0, "ADwAPA==", null], "tensor", null, false], ["T", "float16", [3], ["values", "0.0", "1.0", 0, "AAAAAAAA", null], "tensor", null, false]]]], [["axis", 0]], null], 6928401898666301953, 3, ["Joint Dtype"]]');
INSERT INTO "news" VALUES(62,'fakelib-1','fakelib.concat','exception ValueError all the input arrays must have same number of dimensions, but the array at inde',NULL);
INSERT INTO "news" VALUES(63,'fakelib-1','fakelib.concat','exception AttributeError # object has no attribute #',NULL);
INSERT INTO "news" VALUES(64,'fakelib-1','fakelib.concat','exception TypeError # object cannot be interpreted as an integer',NULL);
INSERT INTO "news" VALUES(65,'fakelib-1','fakelib.outer','ok (''ndarray'', dtype(''float32''), 4)','[["I", "fakelib.outer", [["T", "float32", [2, 3], ["values", "0.0", "1.0", 0, "AACAPwAAgD8AAIA/AACAPw==", null], "tensor", null, false], ["T", "float32", [2, 3], ["constant", "5e-324", "1.0", 0, "", null], "tensor", null, false]], [], null], 7402641465563998783, 11, ["Database Tensor Value", "Denormal Contents", "Joint Dtype"]]');
INSERT INTO "news" VALUES(66,'fakelib-1','fakelib.outer','exception AttributeError # object has no attribute #',NULL);
INSERT INTO "news" VALUES(67,'fakelib-1','fakelib.scale','ok (''ndarray'', dtype(''float16''), 1)','[["I", "fakelib.scale", [["T", "float16", [3], ["values", "0.0", "1.0", 0, "ADwAPAA8", null], "tensor", null, false], 2.5], [], null], 3433340534515543544, 17, ["Boundary Float", "Tensor Dtype Mutation", "Primitive Mutation", "Random Primitive", "Other Type Elsewhere"]]');
INSERT INTO "news" VALUES(68,'fakelib-1','fakelib.scale','ok (''complex128'', dtype(''complex128''), 0)','[["I", "fakelib.scale", [["T", "complex128", [], ["uniform", "-1.0", "1.0", 51438, "", null], "tensor", null, false], 1.7976931348623157e+308], [], null], 1758814644312797978, 17, ["Boundary Float", "Tensor Dtype Mutation", "Tensor Dtype Mutation", "Tensor Dim Mutation", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(69,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''uint64''), 1)','[["I", "fakelib.resize", [["T", "uint64", [6], ["uniform", "0.0", "9.0", 36316, "", null], "tensor", null, false], 4], [], null], 8673839116435047564, 14, ["Tensor Dtype Mutation", "Random Tensor Value", "Tensor Dtype Mutation", "Random Tensor Value"]]');
INSERT INTO "news" VALUES(70,'fakelib-1','fakelib.resize','exception TypeError resize# missing # required positional argument: #',NULL);
INSERT INTO "news" VALUES(71,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''float32''), 1)','[["I", "fakelib.resize", [["T", "float32", [6], ["constant", "0.0", "1.0", 0, "", null], "tensor", null, false], 4], [], null], 6392380721290604937, 14, ["Zero Contents", "Joint Dtype", "Joint Dtype"]]');
INSERT INTO "news" VALUES(72,'fakelib-1','fakelib.resize','ok (''ndarray'', dtype(''complex128''), 1)','[["I", "fakelib.resize", [["T", "complex128", [6], ["constant", "-9.223372036854776e+18", "1.0", 0, "", null], "tensor", null, false], 4], [], null], 7651159473206313682, 14, ["Extreme Contents", "Joint Dtype"]]');
CREATE TABLE operators (
    target TEXT NOT NULL REFERENCES targets(key), name TEXT NOT NULL, dtype TEXT NOT NULL, api TEXT NOT NULL,
    PRIMARY KEY (target, name, dtype)
) WITHOUT ROWID;
CREATE TABLE probes (
    bug INTEGER NOT NULL REFERENCES bugs(id), build TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('good', 'bad', 'broken')), hits INTEGER NOT NULL, runs INTEGER NOT NULL,
    info TEXT NOT NULL, probed_at TEXT NOT NULL, PRIMARY KEY (bug, build)
) WITHOUT ROWID;
CREATE TABLE provenance (
    invocation INTEGER NOT NULL REFERENCES invocations(id), seed TEXT NOT NULL, part TEXT NOT NULL DEFAULT '', PRIMARY KEY (invocation, seed)
) WITHOUT ROWID;
INSERT INTO "provenance" VALUES(1,'4871418968c6b4958f3fd42d454fa23d','');
INSERT INTO "provenance" VALUES(2,'53f8616d0f41cd5fb50df4e239838e58','');
INSERT INTO "provenance" VALUES(3,'b6b9d7103a85ea27aee5a212352d8e20','');
INSERT INTO "provenance" VALUES(4,'8b2642a9c3dcbc243eb1de3e79c151d5','');
INSERT INTO "provenance" VALUES(5,'4795354997715be3ed65efa5bb9e1485','');
INSERT INTO "provenance" VALUES(6,'278c87fec307c91b2dec37c91fc1dc90','');
INSERT INTO "provenance" VALUES(7,'6d411b6c958167a0a977c527449fd8f9','');
INSERT INTO "provenance" VALUES(8,'0adf6bf9ac081cbc8ec47e32e76b81e9','');
INSERT INTO "provenance" VALUES(9,'0adf6bf9ac081cbc8ec47e32e76b81e9','');
INSERT INTO "provenance" VALUES(10,'0adf6bf9ac081cbc8ec47e32e76b81e9','');
INSERT INTO "provenance" VALUES(11,'ee18559770ea6f2f5be054ef292bcb16','');
INSERT INTO "provenance" VALUES(12,'95b3b718d2ea8fc086138f937dc0bd5a','');
INSERT INTO "provenance" VALUES(13,'929e13542c5322dafa11296ebffd21ca','');
INSERT INTO "provenance" VALUES(14,'aeed5967ad7cd7302aa10efc5bd25da8','');
INSERT INTO "provenance" VALUES(15,'3daed72508d61f041e55b6b83c7938a9','');
INSERT INTO "provenance" VALUES(16,'3daed72508d61f041e55b6b83c7938a9','');
INSERT INTO "provenance" VALUES(17,'d7c5bac2004e5d6eae46248cecf95589','');
INSERT INTO "provenance" VALUES(18,'c4436a421a14a23dec76780f60bd547c','');
INSERT INTO "provenance" VALUES(19,'8ecc9e196770d2a9b5ca793ab8c36b75','');
INSERT INTO "provenance" VALUES(20,'55f568312bb7c931f0941058e8798a36','');
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL REFERENCES targets(key), started TEXT NOT NULL, finished TEXT,
    seed TEXT NOT NULL, options TEXT NOT NULL, tests INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'running', summary TEXT NOT NULL DEFAULT '{}'
);
INSERT INTO "runs" VALUES(1,'fakelib-1','2026-11-24T11:00:46.859+00:00','2026-11-24T11:00:47.839+00:00','7','{"disabled":[],"examining":null,"grow":true,"oracles":["crash"],"patterns":["fakelib.add","fakelib.concat","fakelib.outer","fakelib.resize","fakelib.row_sum","fakelib.scale","fakelib.nn.Window"],"runs":5,"schedule":"bandit","seconds":null,"seed":7,"tests":500,"timeout":20.0}',0,0.0,'done','{"apis":7,"classes":72,"cold":0,"compiling":0.0,"costs":{"fakelib.add":1312.6,"fakelib.concat":788.1,"fakelib.nn.Window":2598.8,"fakelib.outer":1171.5,"fakelib.resize":910.3,"fakelib.row_sum":8041.9,"fakelib.scale":539.0},"deaths":5,"findings":13,"growth":[[0.04,0,1,0,0],[0.09,24,8,0,1],[0.14,24,12,0,1],[0.18,48,12,0,2],[0.2,50,12,0,2],[0.21,50,14,0,2],[0.23,50,19,0,2],[0.24,50,22,0,2],[0.27,96,23,0,3],[0.3,100,23,0,3],[0.3,100,24,0,3],[0.32,100,26,0,5],[0.35,100,27,0,5],[0.37,150,27,0,5],[0.39,150,35,0,7],[0.4,196,37,0,7],[0.4,196,40,0,7],[0.43,196,41,0,7],[0.44,196,42,0,7],[0.46,232,42,0,7],[0.47,232,49,0,7],[0.48,247,49,0,8],[0.5,247,50,0,8],[0.53,247,51,0,8],[0.54,247,51,0,8],[0.58,274,51,0,9],[0.59,274,52,0,9],[0.6,282,52,0,9],[0.62,282,60,0,9],[0.63,282,64,0,9],[0.64,325,64,0,9],[0.66,325,64,0,10],[0.67,325,64,0,11],[0.68,325,65,0,11],[0.69,325,66,0,11],[0.7,375,66,0,11],[0.72,375,68,0,13],[0.74,422,68,0,13],[0.75,422,69,0,13],[0.77,422,70,0,13],[0.77,422,71,0,13],[0.78,422,72,0,13],[0.79,470,72,0,13],[0.83,470,72,0,13]],"inside":0.009,"kept":13,"members":46,"operators":0,"outcomes":{"duplicate":30,"exception":151,"ok":166,"signal":5,"skipped":17},"rate":563.7,"run":1,"seconds":0.834,"tests":470,"warm_rate":563.7,"working":0.333}');
INSERT INTO "runs" VALUES(2,'fakelib-1','2026-11-24T11:00:57.617+00:00','2026-11-24T11:00:57.636+00:00','1','{}',0,0.0,'done','{"seconds":1.5,"tests":3}');
CREATE TABLE seeds (
    target TEXT NOT NULL REFERENCES targets(key), digest TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'partly', 'failed', 'timeout', 'crashed')), reason TEXT NOT NULL,
    seconds REAL NOT NULL, statements INTEGER NOT NULL, statements_failed INTEGER NOT NULL, traced_at TEXT NOT NULL,
    PRIMARY KEY (target, digest)
) WITHOUT ROWID;
INSERT INTO "seeds" VALUES('fakelib-1','0adf6bf9ac081cbc8ec47e32e76b81e9','docs','fakelib.nn.Window docstring','ok','',1.17273960004240507259e-02,5,0,'2026-11-24T11:00:43.730+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','278c87fec307c91b2dec37c91fc1dc90','docs','fakelib.interrupt docstring','ok','',7.17188000089663546532e-03,2,0,'2026-11-24T11:00:43.671+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','3daed72508d61f041e55b6b83c7938a9','docs','fakelib.row_sum docstring','ok','',1.6166309998880024068e-02,4,0,'2026-11-24T11:00:43.936+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','4795354997715be3ed65efa5bb9e1485','docs','fakelib.hang_up docstring','ok','',8.17049899887933861464e-03,2,0,'2026-11-24T11:00:43.640+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','4871418968c6b4958f3fd42d454fa23d','docs','fakelib.add docstring','ok','',1.92207599866378586739e-03,3,0,'2026-11-24T11:00:43.526+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','53f8616d0f41cd5fb50df4e239838e58','docs','fakelib.chatter docstring','ok','',9.78908599972783122211e-03,2,0,'2026-11-24T11:00:43.556+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','55f568312bb7c931f0941058e8798a36','docs','fakelib.vanish docstring','ok','',5.07968199963215738534e-03,2,0,'2026-11-24T11:00:44.115+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','6d411b6c958167a0a977c527449fd8f9','docs','fakelib.mute docstring','ok','',1.11237420005636522546e-02,2,0,'2026-11-24T11:00:43.699+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','8b2642a9c3dcbc243eb1de3e79c151d5','docs','fakelib.fail docstring','ok','',7.55000099889002740383e-03,2,0,'2026-11-24T11:00:43.614+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','8ecc9e196770d2a9b5ca793ab8c36b75','docs','fakelib.switch docstring','ok','',8.19140999919909518212e-03,2,0,'2026-11-24T11:00:44.072+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','929e13542c5322dafa11296ebffd21ca','docs','fakelib.reserve docstring','ok','',4.44474199866817798465e-03,2,0,'2026-11-24T11:00:43.843+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','95b3b718d2ea8fc086138f937dc0bd5a','docs','fakelib.pool docstring','ok','',1.49826870001561474055e-02,3,0,'2026-11-24T11:00:43.811+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','aeed5967ad7cd7302aa10efc5bd25da8','docs','fakelib.resize docstring','ok','',1.06308320009702583774e-02,3,0,'2026-11-24T11:00:43.887+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','b6b9d7103a85ea27aee5a212352d8e20','docs','fakelib.concat docstring','ok','',1.05342599999858066439e-02,3,0,'2026-11-24T11:00:43.584+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','c4436a421a14a23dec76780f60bd547c','docs','fakelib.scribble docstring','ok','',1.65287799973157234489e-03,2,0,'2026-11-24T11:00:44.033+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','d7c5bac2004e5d6eae46248cecf95589','docs','fakelib.scale docstring','ok','',2.03447069998219376429e-02,3,0,'2026-11-24T11:00:43.986+00:00');
INSERT INTO "seeds" VALUES('fakelib-1','ee18559770ea6f2f5be054ef292bcb16','docs','fakelib.outer docstring','ok','',7.7611329998035216704e-03,3,0,'2026-11-24T11:00:43.764+00:00');
CREATE TABLE similarity (
    target TEXT NOT NULL, api TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (target, api)
) WITHOUT ROWID;
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.add',X'FFFF0080C27296960080BA688787E261A1BC175D5D749085008032B3B66D4379BC86');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.chatter',X'0080FFFFC27232B332B3E8A2FFBFD2529999934D00804D6F00800080AAAA32B332B3');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.concat',X'C272C272FFFF46581A61EE6946587878967B9B6C4658C272EE69C2721A6146581A61');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.fail',X'969632B34658FFFF32B34597C3C35A5ABC86555500806F7A0080CC8CDBB6A1BC1ACA');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.hang_up',X'008032B31A6132B3FFFF8BAE66A6D2523373D14500802C64CC8C3373799E66A6FFBF');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.interrupt',X'BA68E8A2EE6945978BAEFFFF8BAE5A5AA28B934D00802C640080BA68459745974597');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.mute',X'8787FFBF4658C3C366A68BAEFFFFD25228AF934DA28B6F7A0080CC8CAAAAA1BC28AF');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.nn.Window',X'E261D25278785A5AD2525A5AD252FFFF5A5A4B4BD25278785A5A5A5A5A5A5A5A5A5A');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.outer',X'A1BC9999967BBC863373A28B28AF5A5AFFFF175DA28B9085437966A6B66DBC864379');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.pool',X'175D934D9B6C5555D145934D934D4B4B175DFFFF175D5D745555D96455555555934D');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.reserve',X'5D7400804658008000800080A28BD252A28B175DFFFFB2900080A28B008000800080');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.resize',X'90854D6FC2726F7A2C642C646F7A787890855D74B290FFFF6F7AD39B4D6F4D6F6F7A');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.row_sum',X'00800080EE690080CC8C008000805A5A4379555500806F7AFFFF3373E779BC86BC86');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.scale',X'32B30080C272CC8C3373BA68CC8C5A5A66A6D964A28BD39B3373FFFF499200800080');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.scribble',X'B66DAAAA1A61DBB6799E4597AAAA5A5AB66D555500804D6FE7794992FFFFDBB6AAAA');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.switch',X'437932B34658A1BC66A64597A1BC5A5ABC86555500804D6FBC860080DBB6FFFFA1BC');
INSERT INTO "similarity" VALUES('fakelib-1','fakelib.vanish',X'BC8632B31A611ACAFFBF459728AF5A5A4379934D00806F7ABC860080AAAAA1BCFFFF');
CREATE TABLE similarity_of (target TEXT PRIMARY KEY, definitions TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "similarity_of" VALUES('fakelib-1','01eb3ea6c6cdd4a9f10c2439ad7b7819');
CREATE TABLE targets (
    key TEXT PRIMARY KEY, spec TEXT NOT NULL, library TEXT NOT NULL, version TEXT NOT NULL, python TEXT NOT NULL,
    info TEXT NOT NULL, made_at TEXT NOT NULL
);
INSERT INTO "targets" VALUES('fakelib-1','fakelib==1','fakelib','1','/env/bin/python','{"devices":["cpu"],"notes":[],"summary":"fakelib 1"}','2026-11-24T11:00:42.023+00:00');
INSERT INTO "targets" VALUES('fakelib-2','fakelib==2','fakelib','2','/env/bin/python','{"devices":["cpu"],"notes":[],"summary":"fakelib 1"}','2026-11-24T11:00:57.616+00:00');
INSERT INTO "targets" VALUES('fakelib-3','fakelib==3','fakelib','3','/env/bin/python','{"devices":["cpu"],"notes":[],"summary":"fakelib 1"}','2026-11-24T11:00:57.616+00:00');
CREATE TABLE undescribed (
    target TEXT NOT NULL, seed TEXT NOT NULL, api TEXT NOT NULL, type TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (target, seed, api, type)
) WITHOUT ROWID;
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX invocations_by_api ON invocations (target, api);
CREATE INDEX provenance_by_seed ON provenance (seed);
CREATE INDEX findings_by_status ON findings (target, status);
CREATE INDEX checks_by_bug ON checks (bug, id);
COMMIT;
