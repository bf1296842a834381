/** Recordings of what a task does: a button that orders one, and what it says of the steps. */

import { useState, type JSX } from 'react';
import type { IOperator, IPhases, IRecording } from '../../api/types';
import { moment, percent } from '../../text/format';
import { trans } from '../../text/translate';
import type { RecordingsModel } from '../../models/recordings';
import { Notice, useSignal } from '../react';
import { Select } from '../Select';
import { Table } from '../Table';
import { numberText } from '../../text/words';

/** Lengths of a recording, in seconds. */
const LENGTHS = ['2', '5', '15', '30'];
/** Operators that are shown. */
const OPERATORS = 15;
/** The phases of a step in their order, with their words. */
const PHASES: readonly (readonly [keyof IPhases, () => string])[] = [
  ['data', () => trans.__('waits for data')],
  ['forward', () => trans.__('forward')],
  ['backward', () => trans.__('backward')],
  ['optimizer', () => trans.__('optimizer')],
  ['communication', () => trans.__('communication')],
  ['idle', () => trans.__('idle')]
];

export function Recordings(props: { model: RecordingsModel; running: boolean }): JSX.Element {
  const { model, running } = props;
  useSignal(model.changed);
  const [length, setLength] = useState('5');
  const [chosen, setChosen] = useState<number | null>(null);
  const shown = model.items.find(one => one.id === chosen) ?? model.items[0];
  return (
    <section className="hai-Recordings" aria-label={trans.__('Profile')} data-testid="hai-recordings">
      <h4>{trans.__('Profile')}</h4>
      <p>{trans.__('Records each operator of a running PyTorch program, with no change to it.')}</p>
      <div className="hai-Performance-bar">
        <button
          className="hai-Button"
          data-testid="hai-record"
          disabled={!running || model.busy}
          title={
            running ? trans.__('Record what all ranks do') : trans.__('Only a running task can be recorded')
          }
          onClick={() => {
            setChosen(null);
            void model.record(Number(length));
          }}
        >
          {model.busy ? trans.__('Recording…') : trans.__('Profile')}
        </button>
        <Select
          className="hai-Select hai-mod-small"
          aria-label={trans.__('Seconds')}
          value={length}
          onChange={event => setLength(event.target.value)}
          options={LENGTHS.map(value => ({ value, label: `${value} s` }))}
        />
        {model.items.length > 1 && (
          <Select
            className="hai-Select hai-mod-small"
            aria-label={trans.__('Recording')}
            value={String(shown?.id ?? '')}
            onChange={event => setChosen(Number(event.target.value))}
            options={model.items.map(one => ({
              value: String(one.id),
              label: trans.__('%1, run %2', moment(one.at), one.run)
            }))}
          />
        )}
      </div>
      {model.refusal !== null && <Notice kind="error">{model.refusal}</Notice>}
      {model.error !== null && <Notice kind="warning">{model.error}</Notice>}
      {shown && <Recorded recording={shown} model={model} />}
    </section>
  );
}

function Recorded(props: { recording: IRecording; model: RecordingsModel }): JSX.Element {
  const { recording, model } = props;
  const { summary } = recording;
  if (recording.state === 'recording') {
    const done = recording.parts.filter(part => part.state !== 'ordered').length;
    return (
      <p role="status">
        {trans.__('Recording: %1 of %2 ranks have answered.', done, recording.parts.length)}
      </p>
    );
  }
  const messages = recording.parts.filter(part => part.message !== null);
  return (
    <>
      {messages.map(part => (
        <Notice key={part.rank} kind="warning">
          {trans.__('Rank %1 on %2: %3', part.rank, part.node, part.message ?? '')}
        </Notice>
      ))}
      {summary && (
        <>
          <p>
            {trans._n(
              'A step takes %2: one process was measured.',
              'A step takes %2, the mean of %1 processes.',
              summary.processes,
              millis(summary.step_s)
            )}{' '}
            {summary.slowest &&
              trans.__(
                'The others wait for rank %1: it needs %2 by itself, where the process in the middle needs %3.',
                summary.slowest.rank,
                millis(summary.slowest.own_s),
                millis(summary.slowest.median_s)
              )}
          </p>
          <Phases phases={summary.phases} />
          <Operators operators={summary.operators} />
        </>
      )}
      <Traces recording={recording} model={model} />
    </>
  );
}

function Phases({ phases }: { phases: IPhases }): JSX.Element {
  const whole = Math.max(
    1e-12,
    PHASES.reduce((sum, [name]) => sum + phases[name], 0)
  );
  return (
    <>
      <div className="hai-Phases" aria-hidden="true">
        {PHASES.filter(([name]) => phases[name] > 0).map(([name, words]) => (
          <span
            key={name}
            className={`hai-Phases-part hai-mod-${name}`}
            title={words()}
            style={{ width: `${(100 * phases[name]) / whole}%` }}
          >
            {phases[name] / whole > 0.12 ? words() : ''}
          </span>
        ))}
      </div>
      <Table
        around="hai-Runs"
        className=""
        testId="hai-phases"
        items={PHASES}
        keyOf={([name]) => name}
        columns={[
          {
            title: trans.__('Phase of a step'),
            head: true,
            cell: ([name, words]) => (
              <>
                <i className={`hai-Phases-swatch hai-mod-${name}`} /> {words()}
              </>
            )
          },
          { title: trans.__('Time'), cell: ([name]) => millis(phases[name]) },
          { title: trans._p('part of all', 'Share'), cell: ([name]) => percent(phases[name] / whole, 1) }
        ]}
      />
    </>
  );
}

function Operators({ operators }: { operators: readonly IOperator[] }): JSX.Element {
  return (
    <Table
      around="hai-Runs hai-Runs-scroll"
      className=""
      testId="hai-operators"
      items={operators.slice(0, OPERATORS)}
      keyOf={one => one.name}
      columns={[
        { title: trans.__('Operator'), head: true, cell: one => one.name },
        { title: trans.__('Calls'), cell: one => numberText(one.calls) },
        { title: trans.__('Own time'), cell: one => millis(one.self_s) },
        { title: trans._p('part of all', 'Share'), cell: one => percent(one.share, 1) }
      ]}
    />
  );
}

function Traces(props: { recording: IRecording; model: RecordingsModel }): JSX.Element | null {
  const { recording, model } = props;
  const traces = recording.parts.flatMap(part => part.traces.map(trace => ({ part, trace })));
  return traces.length === 0 ? null : (
    <ul className="hai-Recordings-traces" aria-label={trans.__('Traces, which ui.perfetto.dev opens')}>
      {traces.length > 1 && (
        <li>
          <a
            href={model.api.allTracesUrl(model.id, recording.id)}
            download={`task-${model.id}-all-ranks.json.gz`}
            data-testid="hai-all-traces"
          >
            {trans.__('Trace of all ranks, as one')}
          </a>
        </li>
      )}
      {traces.map(({ part, trace }) => (
        <li key={`${part.rank}.${trace.number}`}>
          <a
            href={model.api.traceUrl(model.id, recording.id, part.rank, trace.number)}
            download={`task-${model.id}-rank-${part.rank}-${trace.number}.json.gz`}
          >
            {trans.__('Trace of rank %1', part.rank)}
          </a>{' '}
          <span className="hai-Soft">{trace.fault ?? trace.summary?.notes.join(' ') ?? ''}</span>
        </li>
      ))}
    </ul>
  );
}

/** `1.25 s`, `84 ms`. */
function millis(seconds: number): string {
  return seconds >= 1 ? `${seconds.toFixed(2)} s` : `${Number((seconds * 1000).toPrecision(3))} ms`;
}
