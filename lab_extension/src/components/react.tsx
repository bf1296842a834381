/** Small pieces that several panels use. */

import {
  createContext,
  useContext,
  useEffect,
  useLayoutEffect,
  useReducer,
  useState,
  useSyncExternalStore,
  type ReactNode,
  type JSX
} from 'react';
import type { ISignal } from '@lumino/signaling';
import { sentenceOf } from '../api/request';
import { trans } from '../text/translate';

const NARROW = '(width < 700px)';

/** Draw again whenever the signal is emitted. */
export function useSignal<T>(signal: ISignal<T, unknown>): void {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    signal.connect(draw);
    // What was emitted after the first drawing and before this would not be seen until the next signal.
    draw();
    return () => void signal.disconnect(draw);
  }, [signal]);
}

/** The time now, in ms; draws again every `interval` ms while `on`. */
export function useNow(interval: number, on = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!on) {
      return undefined;
    }
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval, on]);
  return now;
}

/** Another number for another theme. */
export function useTheme(): number {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(each => each + 1));
    observer.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-name'] });
    return () => observer.disconnect();
  }, []);
  return theme;
}

/** Whether the window is as narrow as that of a phone. */
export function useNarrow(): boolean {
  const [query] = useState(() =>
    typeof window.matchMedia === 'function' ? window.matchMedia(NARROW) : null
  );
  const [narrow, setNarrow] = useState(query?.matches === true);
  useEffect(() => {
    const look = (): void => setNarrow(query?.matches === true);
    query?.addEventListener('change', look);
    return () => query?.removeEventListener('change', look);
  }, [query]);
  return narrow;
}

/** Characters at the end of a name that are always shown: names of a sweep differ there. */
const END = 12;

/** A name that is cut in its middle where it has too little room. */
export function Name({ text, className = '' }: { text: string; className?: string }): JSX.Element {
  // A short name is cut nowhere; and no character of two code units is cut in two.
  const characters = Array.from(text);
  const at = characters.length > 2 * END ? characters.length - END : characters.length;
  return (
    <span className={`hai-Name ${className}`} title={text}>
      <span>{characters.slice(0, at).join('')}</span>
      <span>{characters.slice(at).join('')}</span>
    </span>
  );
}

/** The sentences that are said in a view now, by those who say them, the first one first. */
class Sayings {
  private readonly said = new Map<string, readonly symbol[]>();
  private readonly listeners = new Set<() => void>();

  /** Say a sentence until the function is called that this gives. */
  say(text: string, who: symbol): () => void {
    this.set(text, [...(this.said.get(text) ?? []), who]);
    return () => this.set(text, this.said.get(text)?.filter(each => each !== who) ?? []);
  }

  isFirst(text: string, who: symbol): boolean {
    return this.said.get(text)?.[0] === who;
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  private set(text: string, who: readonly symbol[]): void {
    this.said.set(text, who);
    if (who.length === 0) {
      this.said.delete(text);
    }
    this.listeners.forEach(listener => listener());
  }
}

const Said = createContext<Sayings | null>(null);

/** Below it each sentence of a `Notice` is said once: when the platform is away, all models of a view know the same. */
export function SaidOnce({ children }: { children: ReactNode }): JSX.Element {
  const around = useContext(Said);
  const [own] = useState(() => new Sayings());
  return <Said.Provider value={around ?? own}>{children}</Said.Provider>;
}

/** Whether nobody else in the view says the same; null: it is no sentence that others say. */
function useFirst(text: string | null): boolean {
  const said = useContext(Said);
  const [who] = useState(() => Symbol());
  const first = useSyncExternalStore(
    said?.listen ?? nothing,
    () => said === null || text === null || said.isFirst(text, who)
  );
  useLayoutEffect(
    () => (said === null || text === null ? undefined : said.say(text, who)),
    [said, text, who]
  );
  return first;
}

function nothing(): () => void {
  return () => undefined;
}

/** A box that says what is wrong, with something to do about it. */
export function Notice(props: {
  kind: 'error' | 'warning' | 'info';
  children: ReactNode;
}): JSX.Element | null {
  const { children } = props;
  return useFirst(typeof children === 'string' ? children : null) ? (
    <div className={`hai-Notice hai-mod-${props.kind}`} role={props.kind === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  ) : null;
}

/** What is said in place of something that is read: why it cannot be, or that it is on its way. */
export function Reading({ error, ready }: { error: string | null; ready: boolean }): JSX.Element | null {
  if (error !== null) {
    return <Notice kind="error">{error}</Notice>;
  }
  return ready ? null : <p className="hai-Empty">{trans.__('Loading…')}</p>;
}

/** The answer to the latest question, and why there is none; until it comes, the answer to the one before. */
export function useAnswer<T>(ask: () => Promise<T>): { value: T | null; error: string | null } {
  const [answer, setAnswer] = useState<{ value: T | null; error: string | null }>({
    value: null,
    error: null
  });
  useEffect(() => {
    let wanted = true;
    ask().then(
      value => wanted && setAnswer({ value, error: null }),
      (reason: unknown) => wanted && setAnswer(({ value }) => ({ value, error: sentenceOf(reason) }))
    );
    return () => {
      wanted = false;
    };
  }, [ask]);
  return answer;
}

/** A bar of parts of a whole. The numbers are said in words by `label`. */
export function Bar(props: {
  label: string;
  total: number;
  parts: { className: string; value: number }[];
}): JSX.Element {
  return (
    <div className="hai-Bar" role="img" aria-label={props.label} title={props.label}>
      {props.parts
        .filter(part => part.value > 0)
        .map(part => (
          <div
            key={part.className}
            className={`hai-Bar-part ${part.className}`}
            style={{ width: `${(100 * part.value) / Math.max(1, props.total)}%` }}
          />
        ))}
    </div>
  );
}
