/** What is around Studio on the page: the bar at the top, what is said in the corner, and the dialog that asks. */

import { useEffect, useId, useRef, useState, type JSX } from 'react';
import { Details } from '../components/Details';
import { Icon } from '../components/icons';
import { Notice, useSignal } from '../components/react';
import { Frame } from '../components/studio/Frame';
import { useStudio } from '../components/studio/context';
import { language, trans } from '../text/translate';
import type { IAsked, PageHost } from './host';
import { chooseLanguage, NAMES } from './languages';
import type { IStart } from './start';
import type { ThemeChoice, Themes } from './theme';
import type { PageTransport } from './transport';

export interface IAroundProps {
  start: IStart;
  host: PageHost;
  themes: Themes;
  transport: PageTransport;
}

export function Around(props: IAroundProps): JSX.Element {
  const { host, transport } = props;
  useSignal(host.changed);
  useSignal(transport.loggedOutChanged);
  return (
    <>
      <a className="hai-Page-skip" href="#hai-main">
        {trans.__('Skip to the content')}
      </a>
      <Top start={props.start} themes={props.themes} />
      {transport.loggedOut && <LoggedOut />}
      <main id="hai-main" tabIndex={-1}>
        <Frame />
      </main>
      <div className="hai-Toasts" role="status" aria-live="polite">
        {host.toasts.map(toast => (
          <div key={toast.key} className={`hai-Toast hai-mod-${toast.kind}`}>
            <span>{toast.message}</span>
            {toast.action && (
              <button
                className="hai-Link hai-Toast-action"
                onClick={() => {
                  host.dismiss(toast.key);
                  toast.action?.run();
                }}
              >
                {toast.action.label}
              </button>
            )}
            <button
              className="hai-IconButton"
              aria-label={trans.__('Close')}
              onClick={() => host.dismiss(toast.key)}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
      {host.question && <Question key={host.question.title} asked={host.question} />}
    </>
  );
}

function Top({ start, themes }: { start: IStart; themes: Themes }): JSX.Element {
  const { cluster } = useStudio();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const rest = useId();
  useSignal(cluster.changed);
  return (
    <header className="hai-Top">
      <a className="hai-Top-name" href={start.prefix}>
        <Logo /> {trans.__('HAI')}
      </a>
      <span className="hai-Spacer" />
      {/* On a narrow screen the rest is below this button. */}
      <button
        ref={button}
        className="hai-Button hai-mod-small hai-Top-menu"
        aria-expanded={open}
        aria-controls={rest}
        onClick={() => setOpen(!open)}
      >
        {trans.__('Menu')}
      </button>
      <div
        id={rest}
        className={`hai-Top-rest ${open ? 'hai-mod-open' : ''}`}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            setOpen(false);
            button.current?.focus();
          }
        }}
      >
        <ThemeSwitch themes={themes} />
        <LanguageSwitch start={start} />
        <a href={`${start.hub}user-redirect/lab`}>{trans.__('JupyterLab')}</a>
        <a href={`${start.hub}home`}>{trans.__('Hub')}</a>
        {cluster.me && <span className="hai-Top-user">{cluster.me.name}</span>}
        <a href={`${start.hub}logout`}>{trans.__('Log out')}</a>
      </div>
    </header>
  );
}

/** The sign of HAI: nodes with tasks of several sizes. */
function Logo(): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" fill="currentColor" aria-hidden="true">
      <rect x="2" y="4" width="11" height="4" rx="1.5" />
      <rect x="15" y="4" width="7" height="4" rx="1.5" opacity=".45" />
      <rect x="2" y="10" width="5" height="4" rx="1.5" opacity=".45" />
      <rect x="9" y="10" width="13" height="4" rx="1.5" />
      <rect x="2" y="16" width="14" height="4" rx="1.5" />
      <rect x="18" y="16" width="4" height="4" rx="1.5" opacity=".45" />
    </svg>
  );
}

function ThemeSwitch({ themes }: { themes: Themes }): JSX.Element {
  useSignal(themes.changed);
  const words: Record<ThemeChoice, string> = {
    system: trans.__('Theme of the system'),
    light: trans.__('Light'),
    dark: trans.__('Dark')
  };
  return (
    <label className="hai-Top-theme">
      <span className="hai-Hidden">{trans.__('Theme')}</span>
      <select value={themes.choice} onChange={event => themes.choose(event.target.value as ThemeChoice)}>
        {Object.entries(words).map(([choice, word]) => (
          <option key={choice} value={choice}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The names are in the languages themselves: who has chosen a wrong one finds back. */
function LanguageSwitch({ start }: { start: IStart }): JSX.Element | null {
  const tags = ['en', ...Object.keys(start.catalogues)];
  return tags.length < 2 ? null : (
    <label className="hai-Top-theme">
      <span className="hai-Hidden">{trans.__('Language')}</span>
      <select value={language()} onChange={event => chooseLanguage(event.target.value)}>
        {tags.map(tag => (
          <option key={tag} value={tag} lang={tag}>
            {NAMES[tag] ?? tag}
          </option>
        ))}
      </select>
    </label>
  );
}

/**
 * The login has ended while the page was open. What is shown stays, so that it can be read to the end.
 * The empty address is the page's own, also after the next step to another view.
 */
function LoggedOut(): JSX.Element {
  return (
    <div className="hai-Page-out">
      <Notice kind="error">
        {trans.__('Your login has ended: what you see here is not kept up to date.')}{' '}
        <a href="" data-testid="hai-log-in">
          {trans.__('Log in again')}
        </a>
      </Notice>
    </div>
  );
}

function Question({ asked }: { asked: IAsked }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const body = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className="hai-Dialog"
      aria-labelledby={title}
      aria-describedby={body}
      onCancel={event => {
        event.preventDefault();
        asked.answer(false);
      }}
    >
      <h2 id={title}>{asked.title}</h2>
      <p id={body}>{asked.body}</p>
      <Details of={asked} />
      <div className="hai-Dialog-buttons">
        {/* A hasty Enter must change nothing: the first button has the focus. */}
        <button className="hai-Button" autoFocus onClick={() => asked.answer(false)}>
          {asked.keep}
        </button>
        <button className="hai-Button hai-mod-danger" onClick={() => asked.answer(true)}>
          {asked.accept}
        </button>
      </div>
    </dialog>
  );
}
