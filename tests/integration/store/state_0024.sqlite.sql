BEGIN TRANSACTION;
CREATE TABLE hai_archived_users (
	name TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	by_name TEXT NOT NULL, 
	note TEXT NOT NULL, 
	CONSTRAINT pk_hai_archived_users PRIMARY KEY (name)
);
CREATE TABLE hai_audit (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	actor TEXT NOT NULL, 
	action TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	"before" JSON, 
	"after" JSON, 
	address TEXT
);
CREATE TABLE hai_budgets (
	user_group TEXT NOT NULL, 
	measure TEXT NOT NULL, 
	most TEXT NOT NULL, 
	window_days INTEGER NOT NULL, 
	currency TEXT, 
	CONSTRAINT pk_hai_budgets PRIMARY KEY (user_group)
);
CREATE TABLE hai_capacity (
	hour BIGINT NOT NULL, 
	node_group TEXT NOT NULL, 
	node_us BIGINT NOT NULL, 
	gpu_us BIGINT NOT NULL, 
	down_us BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	CONSTRAINT pk_hai_capacity PRIMARY KEY (hour, node_group)
);
CREATE TABLE hai_containers (
	id TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	groups JSON NOT NULL, 
	group_name TEXT NOT NULL, 
	gpus INTEGER NOT NULL, 
	millicores INTEGER NOT NULL, 
	started_at BIGINT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	CONSTRAINT pk_hai_containers PRIMARY KEY (id)
);
CREATE TABLE hai_database (
	id SMALLINT NOT NULL, 
	name TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	steps BIGINT NOT NULL, 
	number INTEGER NOT NULL, 
	first_task BIGINT NOT NULL, 
	above INTEGER NOT NULL, 
	CONSTRAINT pk_hai_database PRIMARY KEY (id)
);
INSERT INTO "hai_database" VALUES(1,'8b40139c5284ad0c',1,2,1,0,0);
CREATE TABLE hai_deliveries (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	notification INTEGER NOT NULL, 
	user_name TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	next_at BIGINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	ended_at BIGINT, 
	error TEXT, 
	digest BIGINT, 
	CONSTRAINT fk_hai_deliveries_notification FOREIGN KEY(notification) REFERENCES hai_notifications (id) ON DELETE CASCADE
);
CREATE TABLE hai_environments (
	name TEXT NOT NULL, 
	image TEXT, 
	python TEXT, 
	variables JSON NOT NULL, 
	subjects JSON NOT NULL, 
	description TEXT NOT NULL, 
	is_default BOOLEAN NOT NULL, machine TEXT, glibc TEXT, 
	CONSTRAINT pk_hai_environments PRIMARY KEY (name)
);
CREATE TABLE hai_events (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	user_name TEXT, 
	task_id BIGINT, 
	data JSON NOT NULL
);
CREATE TABLE hai_found_machines (
	image TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	glibc TEXT NOT NULL, 
	task_id BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_hai_found_machines PRIMARY KEY (image)
);
CREATE TABLE hai_lease (
	id SMALLINT NOT NULL, 
	holder TEXT, 
	token BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_hai_lease PRIMARY KEY (id)
);
CREATE TABLE hai_ledger (
	run_id TEXT NOT NULL, 
	part INTEGER NOT NULL, 
	task_id BIGINT NOT NULL, 
	number INTEGER NOT NULL, 
	key_id BIGINT NOT NULL, 
	nodes INTEGER NOT NULL, 
	gpus INTEGER NOT NULL, 
	node_gpus INTEGER NOT NULL, 
	wait BIGINT NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	starting BIGINT NOT NULL, 
	useful BIGINT NOT NULL, 
	saving BIGINT NOT NULL, 
	lost BIGINT NOT NULL, 
	idle BIGINT NOT NULL, 
	energy_j BIGINT, 
	outcome TEXT, 
	reason TEXT, 
	last BOOLEAN NOT NULL, 
	short BOOLEAN NOT NULL, millicores INTEGER DEFAULT '0' NOT NULL, slowdown BIGINT, 
	CONSTRAINT pk_hai_ledger PRIMARY KEY (run_id, part)
);
INSERT INTO "hai_ledger" VALUES('3.1',1,3,1,1,2,0,0,1000000,2000000,7000001,5000001,0,0,0,0,NULL,'failed','failed',1,1,0,NULL);
INSERT INTO "hai_ledger" VALUES('1.1',1,1,1,1,2,0,0,1000000,2000000,7000001,5000001,0,0,0,0,NULL,'interrupted','turn_over',1,0,0,NULL);
CREATE TABLE hai_ledger_histograms (
	period SMALLINT NOT NULL, 
	since BIGINT NOT NULL, 
	key_id BIGINT NOT NULL, 
	waits BLOB, 
	slowdowns BLOB, 
	CONSTRAINT pk_hai_ledger_histograms PRIMARY KEY (period, since, key_id)
)
 WITHOUT ROWID

;
INSERT INTO "hai_ledger_histograms" VALUES(0,0,1,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(1,0,1,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(2,0,1,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(3,0,2,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(4,0,2,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(5,0,2,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(6,0,2,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(7,0,2,X'010002000000',NULL);
INSERT INTO "hai_ledger_histograms" VALUES(8,0,2,X'010002000000',NULL);
CREATE TABLE hai_ledger_keys (
	id INTEGER NOT NULL, 
	user_name TEXT NOT NULL, 
	groups JSON NOT NULL, 
	group_name TEXT NOT NULL, 
	priority SMALLINT NOT NULL, 
	kind TEXT NOT NULL, 
	CONSTRAINT pk_hai_ledger_keys PRIMARY KEY (id)
);
INSERT INTO "hai_ledger_keys" VALUES(1,'alice','[]','training',10,'task');
INSERT INTO "hai_ledger_keys" VALUES(2,'','[]','training',10,'task');
CREATE TABLE hai_ledger_sums (
	period SMALLINT NOT NULL, 
	since BIGINT NOT NULL, 
	key_id BIGINT NOT NULL, 
	starts BIGINT NOT NULL, 
	wait_us BIGINT NOT NULL, 
	ends BIGINT NOT NULL, 
	interruptions BIGINT NOT NULL, 
	broken BIGINT NOT NULL, 
	failures BIGINT NOT NULL, 
	short BIGINT NOT NULL, 
	starting_us BIGINT NOT NULL, 
	useful_us BIGINT NOT NULL, 
	saving_us BIGINT NOT NULL, 
	lost_us BIGINT NOT NULL, 
	failed_us BIGINT NOT NULL, 
	gpu_starting_us BIGINT NOT NULL, 
	gpu_useful_us BIGINT NOT NULL, 
	gpu_saving_us BIGINT NOT NULL, 
	gpu_lost_us BIGINT NOT NULL, 
	gpu_failed_us BIGINT NOT NULL, 
	gpu_idle_us BIGINT NOT NULL, 
	energy_j BIGINT NOT NULL, core_us BIGINT DEFAULT '0' NOT NULL, tasks BIGINT DEFAULT '0' NOT NULL, slowdown_ppm BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_hai_ledger_sums PRIMARY KEY (period, since, key_id)
)
 WITHOUT ROWID

;
INSERT INTO "hai_ledger_sums" VALUES(0,0,1,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(1,0,1,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(2,0,1,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(3,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(4,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(5,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(6,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(7,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
INSERT INTO "hai_ledger_sums" VALUES(8,0,2,2,2000000,2,1,0,1,1,20000004,0,0,0,10000002,0,0,0,0,0,0,0,0,0,0);
CREATE TABLE hai_log_pieces (
	run_id TEXT NOT NULL, 
	rank INTEGER NOT NULL, 
	start BIGINT NOT NULL, 
	next BIGINT NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_hai_log_pieces PRIMARY KEY (run_id, rank, start)
);
CREATE TABLE hai_mount_rules (
	name TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	action TEXT NOT NULL, 
	kind TEXT, 
	source TEXT NOT NULL, 
	mount_path TEXT NOT NULL, 
	read_only BOOLEAN NOT NULL, 
	priority INTEGER NOT NULL, 
	node_group TEXT, 
	description TEXT NOT NULL, 
	CONSTRAINT pk_hai_mount_rules PRIMARY KEY (name)
);
CREATE TABLE hai_node_conditions (
	node TEXT NOT NULL, 
	ready BOOLEAN NOT NULL, 
	closed BOOLEAN NOT NULL, 
	mark TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	changed_by TEXT, 
	CONSTRAINT pk_hai_node_conditions PRIMARY KEY (node)
);
CREATE TABLE hai_node_marks (
	node TEXT NOT NULL, 
	mark TEXT NOT NULL, 
	CONSTRAINT pk_hai_node_marks PRIMARY KEY (node)
);
INSERT INTO "hai_node_marks" VALUES('node-1','cordoned');
CREATE TABLE hai_notification_rules (
	user_name TEXT NOT NULL, 
	data JSON NOT NULL, 
	CONSTRAINT pk_hai_notification_rules PRIMARY KEY (user_name)
);
CREATE TABLE hai_notifications (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	"key" TEXT NOT NULL, 
	task_id BIGINT, 
	data JSON NOT NULL, 
	routed BOOLEAN NOT NULL, 
	seen BOOLEAN NOT NULL
);
CREATE TABLE hai_progress (
	task_id INTEGER NOT NULL, 
	run_number INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	total BIGINT, 
	at BIGINT NOT NULL, 
	begin_step BIGINT NOT NULL, 
	begin_at BIGINT NOT NULL, 
	pace_s DOUBLE, 
	CONSTRAINT pk_hai_progress PRIMARY KEY (task_id), 
	CONSTRAINT fk_hai_progress_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
CREATE TABLE hai_quotas (
	subject TEXT NOT NULL, 
	group_name TEXT NOT NULL, 
	priority SMALLINT NOT NULL, 
	node_limit INTEGER, ceiling INTEGER, expires_at BIGINT, 
	CONSTRAINT pk_hai_quotas PRIMARY KEY (subject, group_name, priority)
);
INSERT INTO "hai_quotas" VALUES('user:alice','training',10,4,NULL,NULL);
CREATE TABLE hai_rates (
	node_group TEXT NOT NULL, 
	priority SMALLINT NOT NULL, 
	valid_from TEXT NOT NULL, 
	per_node_hour TEXT NOT NULL, 
	per_gpu_hour TEXT NOT NULL, 
	currency TEXT NOT NULL, 
	CONSTRAINT pk_hai_rates PRIMARY KEY (node_group, priority, valid_from)
);
CREATE TABLE hai_recordings (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	task_id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	data JSON NOT NULL, 
	CONSTRAINT fk_hai_recordings_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
CREATE TABLE hai_revision (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT hai_revision_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hai_revision" VALUES('0024');
CREATE TABLE hai_runs (
	task_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	ranks JSON NOT NULL, 
	priority SMALLINT NOT NULL, 
	started_at BIGINT NOT NULL, 
	running_at BIGINT, 
	ended_at BIGINT, 
	notice JSON, 
	killed_at BIGINT, 
	done BOOLEAN NOT NULL, 
	checkpoint JSON, 
	reason TEXT, 
	lost BIGINT, failed_ranks JSON, origin TEXT, "left" TEXT, haienv JSON, summary JSON, 
	CONSTRAINT pk_hai_runs PRIMARY KEY (task_id, number), 
	CONSTRAINT fk_hai_runs_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
INSERT INTO "hai_runs" VALUES(1,1,'1.1','[{"rank": 0, "node": "node-0", "state": "exited", "exit_code": 143, "notified_at": null, "done": true, "message": null}, {"rank": 1, "node": "node-1", "state": "exited", "exit_code": 143, "notified_at": null, "done": true, "message": null}]',10,2000000,NULL,7000001,NULL,NULL,0,'{"at": 1767600005000000, "step": 7, "path": "/c"}','turn_over',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "hai_runs" VALUES(3,1,'3.1','[{"rank": 0, "node": "node-0", "state": "exited", "exit_code": 1, "notified_at": null, "done": true, "message": null}, {"rank": 1, "node": "node-1", "state": "exited", "exit_code": 0, "notified_at": null, "done": true, "message": null}]',10,2000000,NULL,7000001,NULL,NULL,0,NULL,'failed',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE hai_series (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	rank INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	until BIGINT NOT NULL, 
	packed BOOLEAN NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_hai_series PRIMARY KEY (id)
);
CREATE TABLE hai_settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_hai_settings PRIMARY KEY (name)
);
INSERT INTO "hai_settings" VALUES('~words','{"archived": "8fd41aeb968995d8", "conditions": "6b4bfa1a8594cb5f", "environments": "6417fbf8d0e16fa3", "marks": "3a256d7b15ffb36a", "mount_rules": "42aacaddc33fac81", "notification_rules": "a7b579eca616892b", "quotas": "351825ec42e03f9c", "settings": "31dd8b87331b900f", "strikes": "d3c8ac5d20e7c617", "users": "63ba248eda6aac6e", "uses": "1b40d4a75081e409"}');
INSERT INTO "hai_settings" VALUES('policy','{"all": {"worth": {"at": "2026-01-05T08:00:00+00:00", "by": "root", "value": 5.0}}, "groups": {"training": {"worth": {"at": "2026-01-05T08:00:00+00:00", "by": "root", "value": 5.0}}}}');
CREATE TABLE hai_specs (
	task_id INTEGER NOT NULL, 
	command JSON NOT NULL, 
	cwd TEXT NOT NULL, 
	env JSON NOT NULL, 
	checkpoint_dir TEXT, 
	tags JSON NOT NULL, environment TEXT, watch JSON, ranks_per_node JSON, haienv JSON, snapshot JSON, image TEXT, 
	CONSTRAINT pk_hai_specs PRIMARY KEY (task_id), 
	CONSTRAINT fk_hai_specs_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
INSERT INTO "hai_specs" VALUES(1,'["python"]','/','{}',NULL,'["sweep"]',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "hai_specs" VALUES(3,'["python"]','/','{}',NULL,'["sweep"]',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE hai_stars (
	user_name TEXT NOT NULL, 
	task_id INTEGER NOT NULL, 
	CONSTRAINT pk_hai_stars PRIMARY KEY (user_name, task_id), 
	CONSTRAINT fk_hai_stars_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
CREATE TABLE hai_strikes (
	id INTEGER NOT NULL, 
	node TEXT NOT NULL, 
	task_id BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_hai_strikes PRIMARY KEY (id)
);
CREATE TABLE hai_task_tags (
	task_id INTEGER NOT NULL, 
	tag TEXT NOT NULL, 
	CONSTRAINT pk_hai_task_tags PRIMARY KEY (task_id, tag), 
	CONSTRAINT fk_hai_task_tags_task_id FOREIGN KEY(task_id) REFERENCES hai_tasks (id) ON DELETE CASCADE
);
INSERT INTO "hai_task_tags" VALUES(1,'sweep');
INSERT INTO "hai_task_tags" VALUES(3,'sweep');
CREATE TABLE hai_tasks (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	user_name TEXT NOT NULL, 
	group_name TEXT NOT NULL, 
	priority SMALLINT, 
	nodes INTEGER NOT NULL, 
	submitted_at BIGINT NOT NULL, 
	waiting_since BIGINT NOT NULL, 
	profile TEXT NOT NULL, 
	grace BIGINT NOT NULL, 
	time_limit BIGINT, 
	state TEXT NOT NULL, 
	ended BOOLEAN NOT NULL, 
	held BOOLEAN NOT NULL, 
	custom_rank DOUBLE, 
	run_number INTEGER, 
	served BIGINT NOT NULL, 
	suspensions INTEGER NOT NULL, 
	avoid JSON, 
	promise JSON, 
	failed_starts INTEGER NOT NULL, 
	checkpoint JSON, 
	job_state TEXT, 
	reason TEXT, 
	ended_at BIGINT, 
	version BIGINT NOT NULL, 
	saved_at BIGINT NOT NULL, 
	idempotency_key TEXT, gpus INTEGER, retry JSON, retries INTEGER DEFAULT '0' NOT NULL, not_before BIGINT, rotations JSON, leaving_took BIGINT, starting_took BIGINT, change BIGINT DEFAULT '0' NOT NULL, size BIGINT DEFAULT '0' NOT NULL, signal JSON, unsaved INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT uq_hai_tasks_idempotency_key UNIQUE (user_name, idempotency_key)
);
INSERT INTO "hai_tasks" VALUES(1,'one','alice','training',NULL,2,1000000,7000001,'sigterm',120000000,NULL,'suspended',0,0,NULL,1,5000000,1,NULL,NULL,0,NULL,NULL,NULL,NULL,3,1,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,0,0,NULL,0);
INSERT INTO "hai_tasks" VALUES(3,'broken','alice','training',NULL,2,1000000,7000001,'sigterm',120000000,NULL,'failed',1,0,NULL,1,5000000,1,NULL,NULL,0,NULL,NULL,NULL,7000001,3,1,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,0,0,NULL,0);
CREATE TABLE hai_trace_pieces (
	recording INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	trace INTEGER NOT NULL, 
	start BIGINT NOT NULL, 
	next BIGINT NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_hai_trace_pieces PRIMARY KEY (recording, rank, trace, start), 
	CONSTRAINT fk_hai_trace_pieces_recording FOREIGN KEY(recording) REFERENCES hai_recordings (id) ON DELETE CASCADE
);
CREATE TABLE hai_users (
	name TEXT NOT NULL, 
	groups JSON NOT NULL, 
	CONSTRAINT pk_hai_users PRIMARY KEY (name)
);
CREATE TABLE hai_uses (
	user_name TEXT NOT NULL, 
	group_name TEXT NOT NULL, 
	node_seconds DOUBLE NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_hai_uses PRIMARY KEY (user_name, group_name)
);
CREATE TABLE hai_visits (
	name TEXT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	admin_at BIGINT, 
	CONSTRAINT pk_hai_visits PRIMARY KEY (name)
);
CREATE INDEX ix_hai_tasks_by_name ON hai_tasks (user_name, ended, name, id);
CREATE INDEX ix_hai_tasks_of_user ON hai_tasks (user_name, id);
CREATE INDEX ix_hai_tasks_unfinished ON hai_tasks (ended, id);
CREATE INDEX ix_hai_tasks_ended_at ON hai_tasks (ended, ended_at, id);
CREATE INDEX ix_hai_events_of_user ON hai_events (user_name, seq);
CREATE INDEX ix_hai_events_of_task ON hai_events (task_id, seq);
CREATE INDEX ix_hai_tasks_change ON hai_tasks (change);
CREATE INDEX ix_hai_series_of_rank ON hai_series (run_id, rank, step, until);
CREATE INDEX ix_hai_series_to_pack ON hai_series (step, packed, until);
CREATE INDEX ix_hai_ledger_keys_of_user ON hai_ledger_keys (user_name);
CREATE INDEX ix_hai_ledger_started_at ON hai_ledger (started_at, run_id);
CREATE INDEX ix_hai_recordings_of_task ON hai_recordings (task_id, id);
CREATE INDEX ix_hai_recordings_of_run ON hai_recordings (run_id, id);
CREATE INDEX ix_hai_recordings_of_user ON hai_recordings (user_name, id);
CREATE INDEX ix_hai_notifications_of_user ON hai_notifications (user_name, id);
CREATE INDEX ix_hai_notifications_routed ON hai_notifications (routed, id);
CREATE INDEX ix_hai_notifications_key ON hai_notifications ("key");
CREATE INDEX ix_hai_notifications_at ON hai_notifications (at);
CREATE INDEX ix_hai_deliveries_due ON hai_deliveries (state, next_at);
CREATE INDEX ix_hai_deliveries_ended ON hai_deliveries (state, ended_at);
CREATE INDEX ix_hai_deliveries_of ON hai_deliveries (notification);
CREATE INDEX ix_hai_deliveries_of_user ON hai_deliveries (user_name, channel, id);
CREATE INDEX ix_hai_audit_at ON hai_audit (at);
CREATE INDEX ix_hai_audit_of_actor ON hai_audit (actor, id);
CREATE INDEX ix_hai_audit_of_subject ON hai_audit (subject, id);
CREATE INDEX ix_hai_task_tags_tag ON hai_task_tags (tag, task_id);
CREATE INDEX ix_hai_stars_task_id ON hai_stars (task_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('hai_tasks',3);
COMMIT;
