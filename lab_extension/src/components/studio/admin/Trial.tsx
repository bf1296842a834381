/** What other policy numbers would have done to the tasks of the last days, beside what happened. */

import { useEffect, useState, type JSX } from 'react';
import type { IPolicyTrial, ITrial, ITrialSide } from '../../../api/types';
import { TrialModel } from '../../../models/trial';
import { duration, percent } from '../../../text/format';
import { numberText, priorityLabel } from '../../../text/words';
import { language, trans } from '../../../text/translate';
import { Notice, useSignal } from '../../react';
import { Table } from '../../Table';
import { useStudio } from '../context';
import { draftWords } from './policy';
import { Refused } from './Refused';
import { moment, valueText } from './values';

/** A trial that ends with the view. */
export function useTrial(): TrialModel {
  const { api } = useStudio();
  const [model] = useState(() => new TrialModel(api.admin));
  useEffect(() => () => model.dispose(), [model]);
  useSignal(model.changed);
  return model;
}

/** A figure of the three sides, from what happened to what was tried. */
interface IFigureRow {
  title: string;
  values: [number | null, number | null, number | null];
  text: (value: number) => string;
  /** How a difference is written, where it is not as a value is. */
  apart?: (value: number) => string;
}

function part(value: number): string {
  return percent(value, 1);
}

/** A difference of two parts of a whole, so that nobody reads 5 points as 5 %. */
function points(value: number): string {
  return trans.__(
    '%1 percentage points',
    (100 * value).toLocaleString(language(), { maximumFractionDigits: 1 })
  );
}

/** The rows of the comparison. A priority or node group that one side lacks has a dash there. */
export function trialRows(trial: ITrial): IFigureRow[] {
  const { measured, old, new: tried } = trial;
  const sides = [measured, old, tried] as const;
  const row = (
    title: string,
    text: (value: number) => string,
    of: (side: ITrialSide) => number | null | undefined
  ): IFigureRow => ({
    title,
    text,
    ...(text === part ? { apart: points } : {}),
    values: sides.map(side => of(side) ?? null) as IFigureRow['values']
  });
  const levels = [...new Set(sides.flatMap(side => side.levels.map(each => each.level)))];
  const groups = [...new Set(sides.flatMap(side => side.groups.map(each => each.group)))];
  return [
    row(trans.__('Node time that was held'), part, side => side.occupancy),
    row(trans.__('Node time that was useful'), part, side => side.useful),
    row(trans.__('Node time whose work was lost'), duration, side => side.lost_node_s),
    row(trans.__('Turns'), numberText, side => side.turns),
    row(trans.__('Interruptions'), numberText, side => side.interruptions),
    row(trans.__('Tasks that can never start'), numberText, side => side.unfinished),
    ...levels.flatMap(level => {
      const of = (side: ITrialSide): ITrialSide['levels'][number] | undefined =>
        side.levels.find(each => each.level === level);
      const word = priorityLabel(level);
      return [
        row(trans.__('%1: tasks', word), numberText, side => of(side)?.tasks),
        row(trans.__('%1: half wait at most', word), duration, side => of(side)?.wait_p50_s),
        row(trans.__('%1: 90 of 100 wait at most', word), duration, side => of(side)?.wait_p90_s),
        row(trans.__('%1: interruptions', word), numberText, side => of(side)?.interruptions)
      ];
    }),
    ...(groups.length < 2 ? [] : groups).flatMap(group => {
      const of = (side: ITrialSide): ITrialSide['groups'][number] | undefined =>
        side.groups.find(each => each.group === group);
      return [
        row(trans.__('Nodes of %1: useful', group), part, side => of(side)?.useful),
        row(trans.__('Nodes of %1: 90 of 100 wait at most', group), duration, side => of(side)?.wait_p90_s),
        row(trans.__('Nodes of %1: interruptions', group), numberText, side => of(side)?.interruptions)
      ];
    })
  ];
}

/** What was tried differs from what is in force by so much, with its sign: `−12 min`, `+3`; `same` without a difference. */
export function differenceText(row: IFigureRow): string {
  const [, old, tried] = row.values;
  if (old === null || tried === null) {
    return '–';
  }
  const text = row.apart ?? row.text;
  const apart = text(Math.abs(tried - old));
  // 59 s and 1 min may be a moment apart, of which nothing is left to show.
  return row.text(old) === row.text(tried) || apart === text(0)
    ? trans.__('same')
    : `${tried > old ? '+' : '−'}${apart}`;
}

/** `slice=1h, for all node groups`. */
function askedWords(asked: IPolicyTrial): string {
  const draft = {
    ...Object.fromEntries(Object.entries(asked.set ?? {}).map(([name, value]) => [name, valueText(value)])),
    ...Object.fromEntries((asked.unset ?? []).map(name => [name, null]))
  };
  const group = asked.group ?? null;
  return group === null
    ? trans.__('%1, for all node groups', draftWords(draft))
    : trans.__('%1, for %2', draftWords(draft), group);
}

/** `outdated`: the changes that would be saved are other ones by now. */
export function TrialView(props: { trial: TrialModel; outdated: boolean }): JSX.Element | null {
  const { trial } = props;
  const { asked, result } = trial;
  if (trial.status === 'idle' || asked === null) {
    return null;
  }
  return (
    <div className="hai-Card hai-Trial">
      <h2>{trans.__('Trial: %1', askedWords(asked))}</h2>
      {trial.status === 'running' && (
        <p className="hai-Admin-form">
          <progress max={1} value={trial.done} aria-label={trans.__('Progress of the trial')} />
          <span>{part(trial.done)}</span>
          <button className="hai-Button" onClick={() => trial.cancel()}>
            {trans.__('Cancel')}
          </button>
        </p>
      )}
      {trial.status === 'cancelled' && (
        <p className="hai-Empty">{trans.__('You have cancelled the trial. Nothing was changed.')}</p>
      )}
      {trial.status === 'failed' && <Refused error={trial.error} />}
      {result !== null && (
        <>
          {props.outdated && (
            <Notice kind="warning">
              {trans.__('Your changes are other ones than those that were tried.')}
            </Notice>
          )}
          <Compared result={result} />
        </>
      )}
    </div>
  );
}

function Compared({ result }: { result: ITrial }): JSX.Element {
  return (
    <>
      <p>
        {trans._n(
          '%1 task from %2 to %3.',
          '%1 tasks from %2 to %3.',
          result.tasks,
          moment(result.since),
          moment(result.until)
        )}
      </p>
      <Table
        label={trans.__('Trial')}
        testId="hai-trial"
        items={trialRows(result)}
        keyOf={row => row.title}
        columns={[
          { title: trans.__('Figure'), head: true, cell: row => row.title },
          ...[
            trans.__('What happened'),
            trans.__('Simulated, numbers in force'),
            trans.__('Simulated, yours')
          ].map((title, at) => ({
            title,
            number: true,
            cell: ({ values, text }: IFigureRow) => {
              const value = values[at] ?? null;
              return value === null ? '–' : text(value);
            }
          })),
          { title: trans.__('Yours, beside those in force'), number: true, cell: differenceText }
        ]}
      />
      <h2>{trans.__('What these figures rest on, and what they cannot know')}</h2>
      <ul>
        {result.assumptions.map(found => (
          <li key={found.name}>{found.sentence}</li>
        ))}
      </ul>
    </>
  );
}
