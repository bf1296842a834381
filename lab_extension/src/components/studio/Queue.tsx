/** The queue for everybody, by node group; the user's own tasks in it can be moved among each other. */

import { useEffect, useRef, useState, type DragEvent, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { Place } from '../../api/operations';
import type { IGroupQueue, IQueueTask } from '../../api/types';
import { isPartlyFixed, neighboursOf, placeOf, QueueModel } from '../../models/queue';
import { between, duration, moment, size } from '../../text/format';
import { trans } from '../../text/translate';
import { numberText, priorityLabel } from '../../text/words';
import { useHost } from '../host';
import { Reading, useNow } from '../react';
import { useModel, useStudio } from './context';
import { changeQuery, Link, useRouter } from './router';

/** Which button of which task was pressed: it has the focus again when the rows have changed places. */
interface IMoved {
  id: number;
  button: 'before' | 'after';
}

/** The queue, of all users or, with `queue=mine` in the address, of the user. */
export function QueueCard(): JSX.Element {
  const router = useRouter();
  const mine = router.route.query.queue === 'mine';
  return (
    <>
      <div className="hai-Filters" role="group" aria-label={trans.__('Whose tasks')}>
        {[false, true].map(own => (
          <button
            key={String(own)}
            className="hai-Button hai-mod-small"
            aria-pressed={mine === own}
            onClick={() => changeQuery(router, { queue: own ? 'mine' : '' })}
          >
            {own ? trans.__('My tasks') : trans.__('Tasks of all users')}
          </button>
        ))}
      </div>
      <Queue key={String(mine)} mine={mine} />
    </>
  );
}

function Queue({ mine }: { mine: boolean }): JSX.Element {
  const { api, feed } = useStudio();
  const host = useHost();
  const model = useModel(() => new QueueModel(api.operations, feed, mine));
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const move = async (task: IQueueTask, place: Place): Promise<void> => {
    setBusy(true);
    try {
      await model.move(task.task_id, place);
      const other = 'before' in place ? place.before : place.after;
      setSaid(
        'before' in place
          ? trans.__('%1 is now before task %2.', task.name, other)
          : trans.__('%1 is now after task %2.', task.name, other)
      );
    } catch (error) {
      host.notify('error', sentenceOf(error));
    }
    setBusy(false);
  };
  return (
    <div data-testid="hai-queue">
      <Reading error={model.error} ready={model.ready} />
      {model.ready && model.groups.length === 0 && (
        <p className="hai-Empty">
          {mine ? trans.__('None of your tasks waits.') : trans.__('No task waits.')}
        </p>
      )}
      {model.groups.map(group => (
        <Group
          key={group.group}
          group={group}
          busy={busy}
          onMove={(task, place) => void move(task, place)}
          onMore={() => void model.more(group.group)}
        />
      ))}
      <div className="hai-Hidden" role="status">
        {said}
      </div>
      {model.plannedAt !== null && model.groups.length > 0 && (
        <p className="hai-Soft">{trans.__('Places and times are those of %1.', moment(model.plannedAt))}</p>
      )}
    </div>
  );
}

function Group(props: {
  group: IGroupQueue;
  busy: boolean;
  onMove: (task: IQueueTask, place: Place) => void;
  onMore: () => void;
}): JSX.Element {
  const { group, busy, onMove } = props;
  const { cluster } = useStudio();
  const now = useNow(15_000);
  const body = useRef<HTMLTableSectionElement>(null);
  const moved = useRef<IMoved | null>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  useEffect(() => {
    // A row that changes its place loses the focus, and a button at the end of a hand is disabled.
    if (moved.current !== null && !busy && body.current) {
      const { id, button } = moved.current;
      moved.current = null;
      const buttons = [...body.current.querySelectorAll<HTMLButtonElement>(`[data-move="${id}"]`)];
      (
        buttons.find(each => each.name === button && !each.disabled) ?? buttons.find(each => !each.disabled)
      )?.focus();
    }
  }, [group, busy]);
  const left = group.waiting + group.held - group.items.length;
  const drag = (task: IQueueTask, own: boolean): IDragProps =>
    !own
      ? {}
      : {
          draggable: !busy,
          onDragStart: event => {
            event.dataTransfer.setData('text/plain', String(task.task_id));
            event.dataTransfer.effectAllowed = 'move';
            setDragged(task.task_id);
          },
          onDragEnd: () => setDragged(null),
          onDragOver: event => {
            if (dragged !== null && placeOf(group.items, dragged, task.task_id) !== null) {
              // Without this, nothing can be dropped here.
              event.preventDefault();
            }
          },
          onDrop: event => {
            event.preventDefault();
            const source = group.items.find(each => each.task_id === dragged);
            const place = dragged === null ? null : placeOf(group.items, dragged, task.task_id);
            setDragged(null);
            if (source && place) {
              onMove(source, place);
            }
          }
        };
  return (
    <section>
      <h3 className="hai-Queue-title">
        {group.group}{' '}
        <span className="hai-Soft">
          {group.held > 0
            ? trans.__('%1 waiting, %2 held', numberText(group.waiting), numberText(group.held))
            : trans.__('%1 waiting', numberText(group.waiting))}
        </span>
      </h3>
      <div
        className="hai-Table-scroll"
        tabIndex={0}
        role="region"
        aria-label={trans.__('Queue of %1', group.group)}
      >
        <table className="hai-Table hai-Queue">
          <thead>
            <tr>
              <th scope="col" className="hai-mod-number">
                {trans.__('Place')}
              </th>
              <th scope="col">{trans.__('Task')}</th>
              <th scope="col">{trans.__('User')}</th>
              <th scope="col">{trans.__('Priority')}</th>
              <th scope="col">{trans.__('Size')}</th>
              <th scope="col">{trans.__('What it waits for')}</th>
              <th scope="col">{trans.__('Until about')}</th>
              <th scope="col" className="hai-mod-number">
                {trans.__('Waiting for')}
              </th>
              <th scope="col">{trans.__('Order')}</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {group.items.map(task => {
              const own = task.user === cluster.me?.name;
              return (
                <tr
                  key={task.task_id}
                  className={`${own ? 'hai-mod-own' : ''} ${dragged === task.task_id ? 'hai-mod-dragged' : ''}`}
                  {...drag(task, own)}
                >
                  <td className="hai-mod-number">
                    {task.position === null ? '–' : numberText(task.position)}
                  </td>
                  <th scope="row">
                    {task.name === '' ? (
                      <span className="hai-Soft">#{task.task_id}</span>
                    ) : (
                      <>
                        <Link to={{ page: 'tasks', id: task.task_id }}>{task.name}</Link>{' '}
                        <span className="hai-Soft">#{task.task_id}</span>
                      </>
                    )}
                  </th>
                  <td>{task.user}</td>
                  <td>{priorityLabel(task.priority)}</td>
                  <td>{size(task)}</td>
                  <td className="hai-Queue-why">{task.short.words}</td>
                  <td>{task.short.until === null ? '–' : moment(task.short.until, now)}</td>
                  <td className="hai-mod-number">{duration(between(task.waiting_since, now))}</td>
                  <td>
                    {own && (
                      <Moves
                        task={task}
                        items={group.items}
                        busy={busy}
                        onMove={(place, button) => {
                          moved.current = { id: task.task_id, button };
                          onMove(task, place);
                        }}
                      />
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {isPartlyFixed(group.items, cluster.me?.name) && (
        <p className="hai-Soft">
          {trans.__(
            'Your tasks change places where they ask for the same priority. Those that ask for Auto and those that ask for a level keep their places among each other.'
          )}
        </p>
      )}
      {group.next !== null && (
        <button className="hai-Link" onClick={props.onMore}>
          {left > 0 ? trans.__('Show more (%1 left)', numberText(left)) : trans.__('Show more')}
        </button>
      )}
    </section>
  );
}

interface IDragProps {
  draggable?: boolean;
  onDragStart?: (event: DragEvent) => void;
  onDragEnd?: () => void;
  onDragOver?: (event: DragEvent) => void;
  onDrop?: (event: DragEvent) => void;
}

/** Two buttons that move an own task past the next one of the same priority. */
function Moves(props: {
  task: IQueueTask;
  items: readonly IQueueTask[];
  busy: boolean;
  onMove: (place: Place, button: IMoved['button']) => void;
}): JSX.Element | null {
  const { task, busy, onMove } = props;
  const { before, after } = neighboursOf(props.items, task);
  if (before === null && after === null) {
    return null;
  }
  return (
    <span className="hai-Queue-moves">
      <button
        className="hai-IconButton"
        name="before"
        data-move={task.task_id}
        disabled={busy || before === null}
        aria-label={
          before === null
            ? trans.__('%1 is the first of your tasks of its priority', task.name)
            : trans.__('Move %1 before %2', task.name, before.name)
        }
        title={before === null ? '' : trans.__('Before %1', before.name)}
        onClick={() => before && onMove({ before: before.task_id }, 'before')}
      >
        <span aria-hidden="true">▴</span>
      </button>
      <button
        className="hai-IconButton"
        name="after"
        data-move={task.task_id}
        disabled={busy || after === null}
        aria-label={
          after === null
            ? trans.__('%1 is the last of your tasks of its priority', task.name)
            : trans.__('Move %1 after %2', task.name, after.name)
        }
        title={after === null ? '' : trans.__('After %1', after.name)}
        onClick={() => after && onMove({ after: after.task_id }, 'after')}
      >
        <span aria-hidden="true">▾</span>
      </button>
    </span>
  );
}
