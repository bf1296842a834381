/** The channels: whether each can be used, its address, and a test. */

import { useEffect, useId, useState, type JSX, type ReactNode } from 'react';
import { sentenceOf } from '../../../api/request';
import type { INotificationChannel, INotificationRules } from '../../../api/types';
import { askPermission, canNotify, permission, showTest } from '../../../models/attention';
import type { RulesChange, RulesModel } from '../../../models/rules';
import { moment } from '../../../text/format';
import { channelText } from '../../../text/notifications';
import { trans } from '../../../text/translate';
import { useHost } from '../../host';
import { Notice } from '../../react';
import { useChange } from '../admin/Refused';

export interface IChannelsProps {
  model: RulesModel;
  rules: INotificationRules;
  /** The channel that is being tested; null: none. */
  testing: string | null;
  onTest: (channel: string) => void;
}

export function Channels(props: IChannelsProps): JSX.Element {
  const { model, rules, testing } = props;
  const [allowed, setAllowed] = useState(permission);
  const [secret, setSecret] = useState<string | null>(null);
  const write = async (change: RulesChange): Promise<void> => {
    const { webhook_secret } = await model.write(change);
    if (webhook_secret !== null || change.webhook === null) {
      setSecret(webhook_secret);
    }
  };
  const test = (channel: string, usable: boolean, run: () => void): JSX.Element => (
    <button
      className="hai-Button"
      disabled={!usable || testing !== null}
      aria-label={trans.__('Send a test: %1', channelText(channel))}
      onClick={run}
    >
      {testing === channel ? trans.__('Sending…') : trans.__('Send a test')}
    </button>
  );
  return (
    <ul className="hai-Channels">
      {rules.channels.map(channel => (
        <Channel
          key={channel.name}
          channel={channel}
          test={
            channel.name === 'browser'
              ? test('browser', allowed === 'granted', showTest)
              : test(channel.name, channel.missing === null, () => props.onTest(channel.name))
          }
        >
          {channel.name === 'browser' && <Browser allowed={allowed} onAsked={setAllowed} />}
          {channel.name === 'mail' && (
            <Address
              label={trans.__('Mail address')}
              placeholder={trans.__('name@example.org')}
              value={rules.mail}
              save={mail => write({ mail })}
            />
          )}
          {channel.name === 'webhook' && <Webhook value={rules.webhook} secret={secret} save={write} />}
        </Channel>
      ))}
    </ul>
  );
}

function Channel(props: {
  channel: INotificationChannel;
  test: JSX.Element;
  children: ReactNode;
}): JSX.Element {
  const { channel } = props;
  return (
    <li className="hai-Channel" data-testid={`hai-channel-${channel.name}`}>
      <div className="hai-Channel-head">
        <b>{channelText(channel.name)}</b>
        <span className="hai-Soft">{aboutOf(channel)}</span>
        <span className="hai-Spacer" />
        {props.test}
      </div>
      {props.children}
      {channel.error !== null && (
        <Notice kind="warning">
          {channel.error_at === null
            ? trans.__('A message was not delivered: %1', channel.error)
            : trans.__('A message was not delivered (%1): %2', moment(channel.error_at), channel.error)}
        </Notice>
      )}
    </li>
  );
}

/** What a channel is, or what is missing for it. */
function aboutOf(channel: INotificationChannel): string {
  if (channel.missing !== null) {
    return channel.missing;
  }
  if (channel.name.startsWith('sink:')) {
    return trans.__('A sink that an admin has set up: all who can read it see what is sent there.');
  }
  switch (channel.name) {
    case 'lab':
      return trans.__('On the screen, while JupyterLab or Studio is open.');
    case 'browser':
      return trans.__('By the browser, while no tab of HAI can be seen.');
    default:
      return '';
  }
}

/** Whether this browser may show notifications; it is asked by a click alone. */
function Browser(props: {
  allowed: NotificationPermission;
  onAsked: (answer: NotificationPermission) => void;
}): JSX.Element {
  if (!canNotify()) {
    return (
      <p className="hai-Soft">
        {trans.__('This browser shows no notifications of this address: an address with https:// is needed.')}
      </p>
    );
  }
  switch (props.allowed) {
    case 'granted':
      return <p className="hai-Soft">{trans.__('Allowed in this browser.')}</p>;
    case 'denied':
      return (
        <p className="hai-Soft">
          {trans.__(
            'Refused in this browser. Allow notifications of this address in the settings of the browser.'
          )}
        </p>
      );
    default:
      return (
        <button
          className="hai-Button hai-mod-primary"
          onClick={() => void askPermission().then(props.onAsked)}
        >
          {trans.__('Allow in this browser')}
        </button>
      );
  }
}

/** An address in a line, with what the service says against it. */
function Address(props: {
  label: string;
  placeholder: string;
  value: string | null;
  save: (value: string | null) => Promise<unknown>;
  children?: ReactNode;
}): JSX.Element {
  const id = useId();
  const host = useHost();
  const change = useChange();
  const [text, setText] = useState(props.value ?? '');
  useEffect(() => setText(props.value ?? ''), [props.value]);
  const wanted = text.trim() === '' ? null : text.trim();
  return (
    <form
      className="hai-Channel-address"
      onSubmit={event => {
        event.preventDefault();
        void change.run(async () => {
          await props.save(wanted);
          host.notify(
            'info',
            wanted === null ? trans.__('%1: removed.', props.label) : trans.__('%1: saved.', props.label)
          );
        });
      }}
    >
      <label htmlFor={id}>{props.label}</label>
      <input
        id={id}
        className="jp-mod-styled"
        type="text"
        spellCheck={false}
        autoComplete="off"
        placeholder={props.placeholder}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <button className="hai-Button" type="submit" disabled={change.busy || wanted === props.value}>
        {wanted === null && props.value !== null ? trans.__('Remove') : trans.__('Save')}
      </button>
      {props.children}
      {change.error !== null && <Notice kind="error">{sentenceOf(change.error)}</Notice>}
    </form>
  );
}

function Webhook(props: {
  value: string | null;
  /** The key, if it has just been made; else null. */
  secret: string | null;
  save: (change: RulesChange) => Promise<void>;
}): JSX.Element {
  const host = useHost();
  const change = useChange();
  const renew = async (): Promise<void> => {
    const sure = await host.confirm({
      title: trans.__('Make a new key?'),
      body: trans.__(
        'The old key does not count any more: your receiver refuses messages until it has the new one.'
      ),
      accept: trans.__('Make a new key'),
      keep: trans.__('Keep the key')
    });
    if (sure) {
      await change.run(() => props.save({ new_secret: true }));
    }
  };
  return (
    <>
      <Address
        label={trans.__('Webhook address')}
        placeholder={trans.__('https://hooks.example.org/hai')}
        value={props.value}
        save={webhook => props.save({ webhook })}
      >
        {props.value !== null && (
          <button className="hai-Button" type="button" disabled={change.busy} onClick={() => void renew()}>
            {trans.__('New key…')}
          </button>
        )}
      </Address>
      {change.error !== null && <Notice kind="error">{sentenceOf(change.error)}</Notice>}
      {props.secret !== null && (
        <Notice kind="info">
          {trans.__('The key of the webhook, shown once:')} <code data-testid="hai-key">{props.secret}</code>{' '}
          {trans.__('Your receiver checks signatures with it, as Standard Webhooks says.')}
        </Notice>
      )}
    </>
  );
}
