/** Tabs within a view; arrow keys go from one to the other. */

import { useId, useRef, type JSX, type KeyboardEvent, type ReactNode } from 'react';

export interface ITabsProps<T extends string> {
  /** The words of each tab, in their order. */
  tabs: Record<T, () => string>;
  tab: T;
  onTab: (tab: T) => void;
  /** What the tabs are of. */
  label: string;
  /** What the tab shows. */
  children: ReactNode;
}

export function Tabs<T extends string>(props: ITabsProps<T>): JSX.Element {
  const { tabs, tab, onTab } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const names = Object.keys(tabs) as T[];
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) {
      return;
    }
    event.preventDefault();
    const place = (names.indexOf(tab) + by + names.length) % names.length;
    onTab(names[place] ?? tab);
    list.current?.querySelectorAll('button')[place]?.focus();
  };
  return (
    <>
      <div ref={list} className="hai-Tabs" role="tablist" aria-label={props.label} onKeyDown={move}>
        {names.map(name => (
          <button
            key={name}
            role="tab"
            id={`${id}-${name}`}
            aria-controls={`${id}-panel`}
            aria-selected={name === tab}
            tabIndex={name === tab ? 0 : -1}
            data-testid={`hai-tab-${name}`}
            onClick={() => onTab(name)}
          >
            {tabs[name]()}
          </button>
        ))}
      </div>
      <div className="hai-TabPanel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {props.children}
      </div>
    </>
  );
}
