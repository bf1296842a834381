/** The button that opens TensorBoard on the folder of a task; it is there when the task has written something. */

import { useEffect, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import { trans } from '../../text/translate';
import { useHost, type IBoard } from '../host';

/** Time between two looks for a first file of a task that runs, in ms. */
const EVERY = 30_000;

export function BoardButton(props: { task: number; running: boolean }): JSX.Element | null {
  const { task, running } = props;
  const host = useHost();
  const { boards } = host;
  const [board, setBoard] = useState<IBoard | null>(null);
  const [busy, setBusy] = useState(false);
  const wanted = boards !== undefined && board?.content !== true;
  useEffect(() => {
    if (!wanted) {
      return;
    }
    let gone = false;
    const look = (): void => {
      // Nobody has asked for it: what cannot be found out is no trouble.
      boards.look(task).then(
        found => gone || setBoard(found),
        () => undefined
      );
    };
    look();
    const timer = running ? setInterval(look, EVERY) : undefined;
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [boards, task, running, wanted]);
  if (boards === undefined || board?.content !== true) {
    return null;
  }
  const open = async (): Promise<void> => {
    setBusy(true);
    try {
      await boards.open(task);
    } catch (error) {
      host.notify('error', sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      className="hai-Button"
      data-testid="hai-tensorboard"
      title={board.advice ?? trans.__('Open %1 in TensorBoard', board.folder)}
      aria-disabled={board.advice !== null}
      disabled={busy}
      onClick={() => {
        if (board.advice === null) {
          void open();
        } else {
          host.notify('warning', board.advice);
        }
      }}
    >
      {busy ? trans.__('TensorBoard starts…') : trans.__('TensorBoard')}
    </button>
  );
}
