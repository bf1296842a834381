/** Command ids and what they do. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, Notification, type WidgetTracker } from '@jupyterlab/apputils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { launchIcon } from '@jupyterlab/ui-components';
import type { IHost } from '../components/host';
import { againOf, replaceQuestion } from '../components/submit/again';
import type { Freeze } from '../components/submit/model';
import type { ISubmitDefaults } from '../api/extension';
import type { ITaskDetail } from '../api/types';
import type { IApi } from '../api/client';
import type { ITransport } from '../api/transport';
import { sentenceOf } from '../api/request';
import { PAGES } from '../components/studio/pages';
import type { Target } from '../components/studio/router';
import { trans } from '../text/translate';
import { CommandIDs } from './commandIds';
import { ensureSaved, isSubmittable, pathOf } from './documents';
import { openExamples } from './examples';
import { clusterIcon, environmentIcon, examplesIcon, haiIcon, tasksIcon } from './icons';
import type { ClusterModel } from '../models/cluster';
import type { EnvironmentsModel } from '../models/environments';
import type { Feed } from '../models/feed';
import { LogModel } from '../models/log';
import { PerformanceModel, timesOf } from '../models/performance';
import { RecordingsModel } from '../models/recordings';
import { TaskModel } from '../models/task';
import type { TasksModel } from '../models/tasks';
import { EnvironmentsWidget } from './environments';
import { StudioWidget } from './studio';
import { submitDialog } from './submit';
import { TaskWidget } from './task';

const IS_LAUNCHER = { type: 'boolean', description: 'Whether a card of the Launcher asks for the label' };

/** The numbers of the settings. */
export interface ISettingValues {
  refreshInterval: number;
}

export interface ICommandOptions {
  app: JupyterFrontEnd;
  api: IApi;
  feed: Feed;
  tasks: TasksModel;
  cluster: ClusterModel;
  tracker: WidgetTracker<MainAreaWidget<TaskWidget>>;
  documents: IDocumentManager;
  browsers: IFileBrowserFactory | null;
  environments: EnvironmentsModel;
  host: IHost;
  transport: ITransport;
  settings: () => ISettingValues;
}

/** Register all commands. */
export function addCommands(options: ICommandOptions): void {
  const { app, browsers, documents } = options;
  const { commands, shell } = app;
  const selected = (): string | null => {
    const [item] = browsers?.tracker.currentWidget?.selectedItems() ?? [];
    return item && item.type !== 'directory' && isSubmittable(item.path) ? item.path : null;
  };
  commands.addCommand(CommandIDs.submit, {
    label: args =>
      args.isLauncher === true
        ? trans.__('Submit a task')
        : args.path
          ? trans.__('Submit to HAI')
          : trans.__('Submit to HAI…'),
    caption: args =>
      args.isLauncher === true
        ? trans.__('Run a command as a task on the cluster')
        : trans.__('Run the open script or notebook as a task on the cluster'),
    // The first card gives the section of the Launcher its icon.
    icon: args => (args.isLauncher === true ? haiIcon : launchIcon),
    describedBy: {
      args: {
        type: 'object',
        properties: { path: { type: 'string' }, isLauncher: IS_LAUNCHER }
      }
    },
    execute: args => {
      const path = args.path;
      return submit(options, typeof path === 'string' ? path : pathOf(documents, shell.currentWidget));
    }
  });
  commands.addCommand(CommandIDs.submitSelected, {
    label: trans.__('Submit to HAI'),
    caption: trans.__('Run this file as a task on the cluster'),
    icon: haiIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    isVisible: () => selected() !== null,
    execute: () => submit(options, selected())
  });
  commands.addCommand(CommandIDs.openTask, {
    label: args =>
      typeof args.id === 'number' ? trans.__('Open task %1', args.id) : trans.__('Open a task'),
    describedBy: {
      args: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
    },
    execute: args => openTask(options, Number(args.id))
  });
  commands.addCommand(CommandIDs.submitAgain, {
    label: trans.__('Submit a task again'),
    describedBy: {
      args: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
    },
    execute: args => submitAgain(options, Number(args.id))
  });
  options.environments.submitted.connect((_, task) => {
    options.tasks.put(task);
    void commands.execute(CommandIDs.openTask, { id: task.id });
  });
  commands.addCommand(CommandIDs.environments, {
    label: trans.__('Environments'),
    caption: trans.__('Python environments: list, make, change and share them'),
    icon: environmentIcon,
    describedBy: {
      args: { type: 'object', properties: { isLauncher: IS_LAUNCHER } }
    },
    execute: () => openEnvironments(options)
  });
  commands.addCommand(CommandIDs.examples, {
    label: args => (args.isLauncher === true ? trans.__('Examples') : trans.__('Open the examples of HAI')),
    caption: trans.__('A notebook that shows the platform by doing, and trainings to begin with'),
    icon: examplesIcon,
    describedBy: {
      args: { type: 'object', properties: { isLauncher: IS_LAUNCHER } }
    },
    execute: () => openExamples(commands, options.transport)
  });
  commands.addCommand(CommandIDs.studio, {
    label: args =>
      args.isLauncher === true
        ? cardOf(args.page)
        : typeof args.page === 'string'
          ? titleOf(args.page)
          : trans.__('HAI Studio'),
    caption: args =>
      args.page === 'tasks'
        ? trans.__('Your tasks: what runs, what waits and why, what has ended')
        : trans.__('The cluster at a glance, all tasks, nodes and reports'),
    icon: args => (args.isLauncher !== true ? haiIcon : args.page === 'tasks' ? tasksIcon : clusterIcon),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          page: {
            type: 'string',
            description: 'The page to show: overview (default), tasks, nodes, reports, ...'
          },
          compare: { type: 'string', description: 'On the page tasks: the tasks to compare, such as 3,7' },
          isLauncher: IS_LAUNCHER
        }
      }
    },
    execute: args =>
      openStudio(
        options,
        typeof args.page !== 'string'
          ? null
          : {
              page: args.page,
              query: typeof args.compare === 'string' ? { compare: args.compare } : {}
            }
      )
  });
  commands.addCommand(CommandIDs.showPanel, {
    label: trans.__('Show HAI'),
    caption: trans.__('The cluster and your tasks'),
    icon: haiIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => shell.activateById('hai-panel')
  });
}

async function submit(options: ICommandOptions, path: string | null): Promise<void> {
  const { api, documents } = options;
  try {
    if (path !== null && !(await ensureSaved(documents, path))) {
      return;
    }
    await showForm(options, api.submitDefaults(path ?? ''));
  } catch (error) {
    Notification.error(sentenceOf(error), { autoClose: 8_000 });
  }
}

/** Show the form filled with a task; when that one still waits, ask whether the new one replaces it. */
async function submitAgain(options: ICommandOptions, id: number): Promise<void> {
  const { api, host, tasks } = options;
  try {
    const old = await api.task(id);
    const made = await showForm(options, { name: old.name, cwd: old.cwd, command: old.command }, old);
    const question = made === null ? null : replaceQuestion(await api.task(id), made);
    if (question !== null && (await host.confirm(question))) {
      tasks.put(await api.act(id, 'stop'));
    }
  } catch (error) {
    Notification.error(sentenceOf(error), { autoClose: 8_000 });
  }
}

/** Show the form; the task that was made, or null. */
async function showForm(
  options: ICommandOptions,
  first: ISubmitDefaults | Promise<ISubmitDefaults>,
  like: ITaskDetail | null = null
): Promise<ITaskDetail | null> {
  const { api, app, cluster, tasks } = options;
  const [defaults, policy, me, environments, secrets] = await Promise.all([
    first,
    api.policy(),
    cluster.me ?? api.me(),
    environmentNames(options),
    // Names to choose among: the form serves without them.
    api.secrets().catch(() => ({ items: [] }))
  ]);
  const free = Object.fromEntries((cluster.cluster?.groups ?? []).map(group => [group.group, group.free]));
  const drafts = options.environments.found.items.filter(one => one.draft).map(one => one.name);
  const names = secrets.items.map(one => one.name);
  const context = { policy, quota: me.quota, environments, drafts, secrets: names };
  const again = like === null ? null : againOf(like, context);
  const freeze: Freeze = async name => {
    const frozen = await options.environments.freeze(name);
    if (frozen.changed) {
      Notification.info(trans.__('Froze the draft of %1 as %2@%3', name, name, frozen.generation ?? '?'), {
        autoClose: 8_000
      });
    }
    return frozen;
  };
  const task = await submitDialog(api, defaults, context, free, freeze, again);
  if (task !== null) {
    tasks.put(task);
    for (const warning of task.warnings) {
      Notification.warning(warning, { autoClose: 8_000 });
    }
    await app.commands.execute(CommandIDs.openTask, { id: task.id });
  }
  return task;
}

/** Names of all environments that can be chosen: those of haienv, then images. Neither of the two sources holds a form up. */
async function environmentNames(options: ICommandOptions): Promise<string[]> {
  const [, known] = await Promise.all([
    options.environments.refresh(),
    options.api.environments().catch(() => ({ items: [] }))
  ]);
  const here = options.environments.found.items.filter(one => one.generation !== undefined);
  const usable = known.items.filter(one => one.haienv?.generation !== null);
  const [images, haienvs] = [
    usable.filter(one => one.kind === 'image'),
    usable.filter(one => one.kind === 'haienv')
  ];
  // This server's folder and the service know mostly the same ones.
  return [...new Set([...here, ...haienvs, ...images].map(one => one.name))];
}

/** The label of a card of the Launcher. */
function cardOf(page: unknown): string {
  return page === 'tasks' ? trans.__('My tasks') : trans.__('Cluster');
}

/** The label of the command for one page. */
function titleOf(page: string): string {
  const title = PAGES.find(each => each.id === page)?.title() ?? page;
  return trans.__('HAI Studio: %1', title);
}

function openStudio(options: ICommandOptions, target: Target | null): void {
  const { app, api, cluster, feed, host } = options;
  const id = 'hai-studio';
  const open = [...app.shell.widgets('main')].find(
    (widget): widget is MainAreaWidget<StudioWidget> =>
      widget.id === id && widget instanceof MainAreaWidget && widget.content instanceof StudioWidget
  );
  if (open === undefined) {
    const widget = new MainAreaWidget({
      content: new StudioWidget(target ?? { page: 'overview' }, { api, cluster, feed }, host, {
        openTask: task => host.openTask(task),
        openEnvironments: () => openEnvironments(options)
      })
    });
    widget.id = id;
    widget.toolbar.hide();
    app.shell.add(widget, 'main');
  } else if (target !== null) {
    open.content.router.go(target);
  }
  app.shell.activateById(id);
}

function openEnvironments(options: ICommandOptions): void {
  const { shell } = options.app;
  const id = 'hai-environments';
  if (![...shell.widgets('main')].some(widget => widget.id === id)) {
    const widget = new MainAreaWidget({
      content: new EnvironmentsWidget(options.environments, options.host)
    });
    widget.id = id;
    widget.toolbar.hide();
    shell.add(widget, 'main');
  }
  shell.activateById(id);
}

function openTask(options: ICommandOptions, id: number): MainAreaWidget<TaskWidget> {
  const { app, api, feed, tasks, tracker } = options;
  if (!Number.isInteger(id) || id < 1) {
    throw new Error(`${id} is not the number of a task.`);
  }
  const widgetId = `hai-task-${id}`;
  let widget = tracker.find(each => each.id === widgetId);
  if (!widget) {
    const { refreshInterval } = options.settings();
    const task = new TaskModel(id, api, feed, refreshInterval * 1000);
    const content = new TaskWidget(
      {
        model: task,
        log: new LogModel(id, api),
        performance: new PerformanceModel(id, api, feed, () => timesOf(task.task?.runs ?? [])),
        recordings: new RecordingsModel(id, api, feed)
      },
      options.host,
      task => tasks.put(task)
    );
    widget = new MainAreaWidget({ content });
    widget.id = widgetId;
    widget.toolbar.hide();
    void tracker.add(widget);
  }
  if (!widget.isAttached) {
    app.shell.add(widget, 'main');
  }
  app.shell.activateById(widgetId);
  return widget;
}
