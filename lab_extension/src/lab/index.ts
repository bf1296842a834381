/** The plugin of HAI: models, panel, commands. */

import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification, WidgetTracker, type MainAreaWidget } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';
import { tellUnsaved } from '../models/alarms';
import { Attention } from '../models/attention';
import { Api } from '../api/client';
import { EnvironmentsApi } from '../api/environments';
import { takeTranslator } from './catalogue';
import { CommandIDs } from './commandIds';
import { addCommands, type ISettingValues } from './commands';
import { showOnce } from './firstTime';
import { LabHost } from './host';
import { addCards } from './launcher';
import { pathOf } from './documents';
import { ClusterModel } from '../models/cluster';
import { lifetimePlugin } from './lifetime';
import { EnvironmentsModel } from '../models/environments';
import { comparedQuery } from '../components/studio/compared';
import { PAGES } from '../components/studio/pages';
import { Feed } from '../models/feed';
import { NotificationsModel } from '../models/notifications';
import { Skew } from '../models/skew';
import { TasksModel } from '../models/tasks';
import { OverviewWidget } from './overview';
import type { TaskWidget } from './task';
import { spotPlugin } from './spot';
import { tasksItem } from './status';
import { tellInLab } from './told';
import { LabTransport } from './transport';
import { trans } from '../text/translate';

const ID = 'hai-lab:plugin';

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'The cluster, your tasks, their timelines and logs.',
  autoStart: true,
  requires: [IDocumentManager],
  optional: [
    ILabShell,
    ILayoutRestorer,
    ICommandPalette,
    ISettingRegistry,
    IFileBrowserFactory,
    ILauncher,
    IStateDB,
    IStatusBar,
    ITranslator
  ],
  activate
};

function activate(
  app: JupyterFrontEnd,
  documents: IDocumentManager,
  labShell: ILabShell | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  registry: ISettingRegistry | null,
  browsers: IFileBrowserFactory | null,
  launcher: ILauncher | null,
  state: IStateDB | null,
  statusBar: IStatusBar | null,
  translator: ITranslator | null
): void {
  takeTranslator(translator);
  const transport = new LabTransport(app.serviceManager.serverSettings);
  const skew = new Skew(sentence => {
    // What is said before Lab shows notifications is only counted, and never shown.
    void app.restored.then(() => Notification.warning(sentence, { autoClose: false }));
  });
  transport.heard = headers => skew.hear(headers);
  const api = new Api(transport);
  const feed = new Feed(api);
  const tasks = new TasksModel(api, feed);
  const cluster = new ClusterModel(api, feed);
  // The panel shows how many are not read.
  const notifications = new NotificationsModel(api, feed, 1);
  const environments = new EnvironmentsModel(new EnvironmentsApi(transport), api);
  const tracker = new WidgetTracker<MainAreaWidget<TaskWidget>>({ namespace: 'hai-task' });
  const settings: ISettingValues = { refreshInterval: 10 };

  addCommands({
    app,
    api,
    feed,
    tasks,
    cluster,
    tracker,
    documents,
    browsers,
    environments,
    transport,
    host: new LabHost(app.commands, transport),
    settings: () => settings
  });
  // The Launcher has the kernels of environments as soon as they are published.
  environments.published.connect(() => void app.serviceManager.kernelspecs.refreshSpecs());
  tellUnsaved(
    feed,
    () => cluster.me?.name ?? null,
    (task, message) => {
      const open = (): void => void app.commands.execute(CommandIDs.openTask, { id: task });
      Notification.warning(message, {
        autoClose: false,
        actions: [{ label: trans.__('Open it'), caption: trans.__('Open task %1', task), callback: open }]
      });
    }
  );
  tellInLab({
    feed,
    openTask: id => void app.commands.execute(CommandIDs.openTask, { id }),
    openAll: () => void app.commands.execute(CommandIDs.studio, { page: 'notifications' }),
    ready: app.restored
  });
  for (const command of [
    CommandIDs.submit,
    CommandIDs.studio,
    CommandIDs.environments,
    CommandIDs.examples,
    CommandIDs.showPanel
  ]) {
    palette?.addItem({ command, category: 'HAI' });
  }
  for (const { id } of PAGES.filter(page => page.admin !== true && page.id !== 'environments')) {
    palette?.addItem({ command: CommandIDs.studio, args: { page: id }, category: 'HAI' });
  }
  if (launcher) {
    addCards(launcher);
  }
  statusBar?.registerStatusItem('hai-lab:tasks', {
    item: tasksItem(tasks, () => void app.commands.execute(CommandIDs.studio, { page: 'tasks' })),
    align: 'left',
    rank: 20
  });
  if (labShell) {
    const panel = new OverviewWidget({
      tasks,
      cluster,
      feed,
      notifications,
      file: {
        current: () => {
          const path = pathOf(documents, labShell.currentWidget);
          return path === null ? null : PathExt.basename(path);
        },
        changed: labShell.currentChanged
      },
      onSubmit: () => void app.commands.execute(CommandIDs.submit),
      onNotifications: () => void app.commands.execute(CommandIDs.studio, { page: 'notifications' }),
      onEnvironments: () => void app.commands.execute(CommandIDs.environments),
      onOpen: id => void app.commands.execute(CommandIDs.openTask, { id }),
      onCompare: ids => void app.commands.execute(CommandIDs.studio, { page: 'tasks', ...comparedQuery(ids) })
    });
    labShell.add(panel, 'left', { rank: 150, type: 'HAI' });
    restorer?.add(panel, 'hai-panel');
    if (state) {
      // After the layout of the user's last visit, which this must not change.
      void app.restored.then(() => showOnce(state, () => app.shell.activateById(panel.id)));
    }
  }
  void restorer?.restore(tracker, {
    command: CommandIDs.openTask,
    args: widget => ({ id: widget.content.model.id }),
    name: widget => String(widget.content.model.id)
  });

  void registry?.load(ID).then(loaded => {
    const apply = (): void => {
      Object.assign(settings, loaded.composite);
      tasks.setFallback(settings.refreshInterval * 1000);
      cluster.setFallback(settings.refreshInterval * 1000);
      tracker.forEach(widget => {
        widget.content.model.setFallback(settings.refreshInterval * 1000);
      });
    };
    loaded.changed.connect(apply);
    apply();
  });

  // Publications matter where environments or kernels can be seen.
  const watch = (): void =>
    environments.watch(!document.hidden && [...app.shell.widgets('main')].some(showsEnvironments));
  labShell?.layoutModified.connect(watch);
  labShell?.currentChanged.connect(watch);

  document.addEventListener('visibilitychange', watch);
  watch();
  // A tab in the background must not hold one of the browser's few connections to the server.
  new Attention(feed);
  void tasks.start();
  void cluster.start();
  void notifications.start();
}

/** Whether a widget shows environments or their kernels now. */
function showsEnvironments(widget: Widget): boolean {
  return widget.isVisible && widget.node.querySelector('.jp-Launcher, .hai-EnvironmentsWidget') !== null;
}

export default [plugin, lifetimePlugin, spotPlugin];
