/** Icons of our own; the rest is JupyterLab's. */

import { LabIcon } from '@jupyterlab/ui-components';
import cluster from '../../style/cluster.svg';
import environment from '../../style/environment.svg';
import examples from '../../style/examples.svg';
import logo from '../../style/logo.svg';
import tasks from '../../style/tasks.svg';

export const haiIcon = new LabIcon({ name: 'hai:logo', svgstr: logo });
export const environmentIcon = new LabIcon({ name: 'hai:environment', svgstr: environment });
export const tasksIcon = new LabIcon({ name: 'hai:tasks', svgstr: tasks });
export const clusterIcon = new LabIcon({ name: 'hai:cluster', svgstr: cluster });
export const examplesIcon = new LabIcon({ name: 'hai:examples', svgstr: examples });
