/** Files of JupyterLab that can be submitted, and that they are saved before. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Widget } from '@lumino/widgets';
import { trans } from '../text/translate';

const SUBMITTABLE = ['.py', '.sh', '.ipynb'];

/** Whether a file can be run as a task. */
export function isSubmittable(path: string): boolean {
  return SUBMITTABLE.includes(PathExt.extname(path).toLowerCase());
}

/** Path of the document that a widget shows, if it can be submitted. */
export function pathOf(documents: IDocumentManager, widget: Widget | null): string | null {
  const path = widget ? documents.contextForWidget(widget)?.path : undefined;
  return path !== undefined && isSubmittable(path) ? path : null;
}

/** Make sure that what is shown is what will run. false: the user does not want to save. */
export async function ensureSaved(documents: IDocumentManager, path: string): Promise<boolean> {
  const context = contextOf(documents, path);
  if (!context?.model.dirty) {
    return true;
  }
  const { button } = await showDialog({
    title: trans.__('Save %1 first?', PathExt.basename(path)),
    body: trans.__('It has changes that are not saved. A task runs the file as it is on disk.'),
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Save and go on') })]
  });
  if (!button.accept) {
    return false;
  }
  await context.save();
  return !context.model.dirty;
}

function contextOf(documents: IDocumentManager, path: string): DocumentRegistry.Context | undefined {
  const widget = documents.findWidget(path, null);
  return widget ? documents.contextForWidget(widget) : undefined;
}
