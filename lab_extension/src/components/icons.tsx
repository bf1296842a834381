/** The icons of the views, drawn in the colour of the text around them. */

import type { JSX } from 'react';

/** Paths in a square of 24 by 24. Those in `OUTLINES` are lines, the others are areas. */
const PATHS = {
  add: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
  caret: 'M6 9.5h12l-6 6z',
  close: 'M6.4 5L12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z',
  down: 'M6 9l6 6 6-6',
  download: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  enlarge: 'M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5',
  environment: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  inbox: 'M4 13.5L7 5h10l3 8.5V19H4zM4 13.5h5l1.5 2.5h3l1.5-2.5h5',
  refresh: 'M19 5v5h-5M18.6 10A7 7 0 1 0 19 13',
  run: 'M7 4.5v15l12-7.5z',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.3 15.3L21 21',
  shrink: 'M4 9h5V4M20 9h-5V4M4 15h5v5M20 15h-5v5',
  up: 'M6 15l6-6 6 6'
} as const;

const OUTLINES: ReadonlySet<string> = new Set([
  'down',
  'download',
  'enlarge',
  'environment',
  'inbox',
  'refresh',
  'search',
  'shrink',
  'up'
]);

export type IconName = keyof typeof PATHS;

/** An icon. It says nothing to a screen reader: what holds it has a label. */
export function Icon(props: { name: IconName }): JSX.Element {
  const line = OUTLINES.has(props.name);
  return (
    <svg
      className="hai-Icon"
      viewBox="0 0 24 24"
      width="16"
      height="16"
      aria-hidden="true"
      focusable="false"
      fill={line ? 'none' : 'currentColor'}
      stroke={line ? 'currentColor' : 'none'}
      strokeWidth={2}
      strokeLinejoin="round"
      strokeLinecap="round"
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}
