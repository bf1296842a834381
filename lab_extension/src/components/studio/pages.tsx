/** The pages of Studio. A further page is one entry here: the navigation, the addresses and both shells have it then. */

import type { ComponentType } from 'react';
import { trans } from '../../text/translate';
import { AuditPage } from './admin/Audit';
import { HealthPage } from './admin/Health';
import { PeoplePage } from './admin/People';
import { EnvironmentsPage } from './Environments';
import { NodesPage } from './Nodes';
import { OverviewPage } from './Overview';
import { ReportsPage } from './Reports';
import { TasksPage } from './Tasks';

export interface IStudioPage {
  /** Its word in addresses: small letters. */
  id: string;
  title: () => string;
  /** Only admins see it. That is for order alone: the service refuses all others what it shows. */
  admin?: boolean;
  /** It asks `useStudio()` for what it reads and `useRouter()` for where it is. */
  component: ComponentType;
}

/** All pages in the order of the navigation. The first one is shown at the address of the service itself. */
export const PAGES: readonly IStudioPage[] = [
  { id: 'overview', title: () => trans.__('Overview'), component: OverviewPage },
  { id: 'tasks', title: () => trans.__('Tasks'), component: TasksPage },
  { id: 'nodes', title: () => trans.__('Nodes'), component: NodesPage },
  { id: 'reports', title: () => trans.__('Reports'), component: ReportsPage },
  { id: 'environments', title: () => trans.__('Environments'), component: EnvironmentsPage },
  { id: 'people', title: () => trans.__('People'), admin: true, component: PeoplePage },
  { id: 'health', title: () => trans.__('Health'), admin: true, component: HealthPage },
  { id: 'audit', title: () => trans.__('Audit'), admin: true, component: AuditPage }
];

/** The pages that a user is offered. */
export function pagesFor(admin: boolean): readonly IStudioPage[] {
  return PAGES.filter(page => admin || page.admin !== true);
}
