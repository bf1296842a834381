/** HAI in JupyterLab's status bar. */

import type { JSX } from 'react';
import { ReactWidget } from '@jupyterlab/apputils';
import type { TasksModel } from '../models/tasks';
import { StatusItem } from '../components/overview/StatusItem';
import { useSignal } from '../components/react';

function Connected({ tasks, onOpen }: { tasks: TasksModel; onOpen: () => void }): JSX.Element {
  useSignal(tasks.changed);
  return <StatusItem tasks={tasks.items} ready={tasks.ready} onOpen={onOpen} />;
}

/** The user's own tasks, running and waiting. */
export function tasksItem(tasks: TasksModel, onOpen: () => void): ReactWidget {
  return ReactWidget.create(<Connected tasks={tasks} onOpen={onOpen} />);
}
