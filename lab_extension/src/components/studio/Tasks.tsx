/** The tasks, and with a number in the address one of them. */

import type { JSX } from 'react';
import { TasksModel } from '../../models/tasks';
import { trans } from '../../text/translate';
import { useHost } from '../host';
import { TaskList } from '../overview/TaskList';
import { Notice } from '../react';
import { useModel, useStudio } from './context';
import { useRouter } from './router';
import { TaskPage } from './TaskPage';

export function TasksPage(): JSX.Element {
  const { id } = useRouter().route;
  return id === null ? <Tasks /> : <TaskPage key={id} id={id} />;
}

function Tasks(): JSX.Element {
  const { api, feed } = useStudio();
  const host = useHost();
  const model = useModel(() => new TasksModel(api, feed));
  return (
    <>
      <h1>{trans.__('Tasks')}</h1>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      {!model.ready && model.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {model.ready && <TaskList tasks={model.items} onOpen={id => host.openTask(id)} />}
    </>
  );
}
