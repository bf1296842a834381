/** JupyterLab as the program around the views. */

import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { CommandRegistry } from '@lumino/commands';
import { createElement } from 'react';
import type { ITransport } from '../api/transport';
import { DetailedBody } from '../components/Details';
import type { IBoards, IHost, IQuestion } from '../components/host';
import { LabBoards } from './boards';
import { CommandIDs } from './commandIds';

/** How long what is said stays on the screen, in ms. */
const SHOWN_FOR = 8_000;

/** Shows tasks as widgets of the main area, and speaks by JupyterLab's notifications and dialogs. */
export class LabHost implements IHost {
  readonly boards: IBoards;

  constructor(
    private readonly commands: CommandRegistry,
    transport: ITransport
  ) {
    this.boards = new LabBoards(transport);
  }

  submitAgain(task: number): void {
    void this.commands.execute(CommandIDs.submitAgain, { id: task });
  }

  openTask(id: number): void {
    void this.commands.execute(CommandIDs.openTask, { id });
  }

  notify(kind: 'info' | 'warning' | 'error', message: string): void {
    Notification.emit(message, kind, { autoClose: SHOWN_FOR });
  }

  async confirm(question: IQuestion): Promise<boolean> {
    const { button } = await showDialog({
      title: question.title,
      body: question.details ? createElement(DetailedBody, { of: question }) : question.body,
      // A hasty Enter must change nothing.
      defaultButton: 0,
      buttons: [Dialog.cancelButton({ label: question.keep }), Dialog.warnButton({ label: question.accept })]
    });
    return button.accept;
  }
}
