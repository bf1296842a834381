/** Submits a task again: with the form, to change something first, or as it was where there is no form. */

import { UUID } from '@lumino/coreutils';
import { useRef, useState, type JSX } from 'react';
import type { IApi } from '../../api/client';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail } from '../../api/types';
import { trans } from '../../text/translate';
import { useHost } from '../host';
import { againQuestion, requestOf } from '../submit/again';

export function AgainButton(props: {
  api: Pick<IApi, 'submit'> | null;
  task: ITaskDetail;
}): JSX.Element | null {
  const { api, task } = props;
  const host = useHost();
  const [busy, setBusy] = useState(false);
  // A try that failed is sent again under the same key: it makes one task at most.
  const key = useRef(UUID.uuid4());
  const open = host.submitAgain?.bind(host);
  if (open === undefined && api === null) {
    return null;
  }
  const submit = async (): Promise<void> => {
    if (api === null || !(await host.confirm(againQuestion(task)))) {
      return;
    }
    setBusy(true);
    try {
      const made = await api.submit(requestOf(task), key.current);
      key.current = UUID.uuid4();
      host.openTask(made.id);
    } catch (error) {
      host.notify('error', sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      className="hai-Button"
      data-testid="hai-again"
      title={trans.__('Make a new task like this one')}
      disabled={busy}
      onClick={() => (open === undefined ? void submit() : open(task.id))}
    >
      {open === undefined ? trans.__('Submit again') : trans.__('Submit again…')}
    </button>
  );
}
