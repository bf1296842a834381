/** The output of a build, as it comes. */

import { useLayoutEffect, useRef, type JSX } from 'react';
import type { IBuild } from '../../api/extension';
import { plainText } from '../../text/format';
import type { BuildModel } from '../../models/build';
import { Notice, useSignal } from '../react';
import { Icon } from '../icons';
import { trans } from '../../text/translate';

const WORDS: Record<IBuild['state'], () => string> = {
  running: () => trans.__('Running…'),
  done: () => trans.__('Done'),
  stopped: () => trans.__('Stopped: nothing has changed'),
  failed: () => trans.__('Failed: nothing has changed')
};

export function BuildLog(props: { model: BuildModel; onClose: () => void }): JSX.Element {
  const { model } = props;
  useSignal(model.changed);
  const { build, lines } = model;
  const end = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (end.current) {
      end.current.scrollTop = end.current.scrollHeight;
    }
  }, [lines]);
  return (
    <section className="hai-BuildLog" aria-label={trans.__('Build')} data-testid="hai-build">
      <header className="hai-EnvironmentsView-header">
        <h3 className="hai-Ellipsis">
          {build.verb} {build.environment}
        </h3>
        <span className={`hai-BuildState hai-mod-${build.state}`} role="status" data-testid="hai-build-state">
          {WORDS[build.state]()}
        </span>
        <span className="hai-Spacer" />
        {build.state === 'running' ? (
          <button className="hai-Button" onClick={() => void model.stop()}>
            {trans.__('Stop it')}
          </button>
        ) : (
          <button
            className="hai-IconButton"
            aria-label={trans.__('Close')}
            title={trans.__('Close')}
            onClick={props.onClose}
          >
            <Icon name="close" />
          </button>
        )}
      </header>
      {model.error !== null && <Notice kind="warning">{model.error}</Notice>}
      <pre className="hai-BuildLog-lines" ref={end} tabIndex={0} data-testid="hai-build-log">
        {lines.map(plainText).join('\n')}
      </pre>
    </section>
  );
}
