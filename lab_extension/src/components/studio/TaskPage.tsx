/** One task, as JupyterLab shows it. It follows the log, or the metrics, only while these can be seen. */

import { useEffect, useState, type JSX } from 'react';
import { LogModel } from '../../models/log';
import { PerformanceModel, timesOf } from '../../models/performance';
import { RecordingsModel } from '../../models/recordings';
import { TaskModel } from '../../models/task';
import { TASK_TABS, TaskView, type TaskTab } from '../task/TaskView';
import { trans } from '../../text/translate';
import { useModel, useStudio } from './context';
import { changeQuery, Link, useRouter } from './router';

export function TaskPage({ id }: { id: number }): JSX.Element {
  const { api, feed } = useStudio();
  const router = useRouter();
  const model = useModel(() => new TaskModel(id, api, feed));
  const [log] = useState(() => new LogModel(id, api));
  const [performance] = useState(
    () => new PerformanceModel(id, api, feed, () => timesOf(model.task?.runs ?? []))
  );
  const [recordings] = useState(() => new RecordingsModel(id, api, feed));
  const asked = router.route.query.tab ?? '';
  const tab: TaskTab = asked in TASK_TABS ? (asked as TaskTab) : 'log';
  useEffect(
    () => () => {
      log.dispose();
      performance.dispose();
      recordings.dispose();
    },
    [log, performance, recordings]
  );
  useEffect(() => {
    performance.show(tab === 'performance');
    recordings.show(tab === 'performance');
    if (tab !== 'log') {
      log.close();
    } else if (log.status === 'idle') {
      log.open();
    }
  }, [log, performance, recordings, tab]);
  return (
    <>
      <p className="hai-Crumbs">
        <Link to={{ page: 'tasks' }}>{trans.__('Tasks')}</Link> / {id}
      </p>
      <TaskView
        api={api}
        model={model}
        log={log}
        performance={performance}
        recordings={recordings}
        tab={tab}
        onTab={next => changeQuery(router, { tab: next === 'log' ? '' : next })}
        onChanged={() => undefined}
      />
    </>
  );
}
