/** Icons of our own; the rest is JupyterLab's. */

import { LabIcon } from '@jupyterlab/ui-components';
import environment from '../../style/environment.svg';
import logo from '../../style/logo.svg';

export const haiIcon = new LabIcon({ name: 'hai:logo', svgstr: logo });
export const environmentIcon = new LabIcon({ name: 'hai:environment', svgstr: environment });
