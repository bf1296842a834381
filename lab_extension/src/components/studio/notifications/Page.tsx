/** What the user is told of their tasks, where, and what they were told. */

import { useState, type JSX } from 'react';
import { sentenceOf } from '../../../api/request';
import { NotificationsModel } from '../../../models/notifications';
import { RulesModel } from '../../../models/rules';
import { testText } from '../../../text/notifications';
import { trans } from '../../../text/translate';
import { useHost } from '../../host';
import { Reading } from '../../react';
import { useModel, useStudio } from '../context';
import { Card } from '../Overview';
import { Channels } from './Channels';
import { Recent } from './Recent';
import { Rules } from './Rules';

export function NotificationsPage(): JSX.Element {
  const { api, feed } = useStudio();
  const host = useHost();
  const rules = useModel(() => new RulesModel(api, feed));
  const told = useModel(() => new NotificationsModel(api, feed));
  const [testing, setTesting] = useState<string | null>(null);
  const test = async (channel: string): Promise<void> => {
    setTesting(channel);
    try {
      const { kind, text } = testText(channel, await told.test(channel));
      host.notify(kind, text);
    } catch (error) {
      host.notify('error', sentenceOf(error));
    } finally {
      setTesting(null);
    }
  };
  return (
    <>
      <h1>{trans.__('Notifications')}</h1>
      <p className="hai-Soft">
        {trans.__(
          'What happens to your tasks, told where you choose. Nobody else sees it, and you are not told of what you did yourself.'
        )}
      </p>
      <Reading error={rules.error} ready={rules.rules !== null} />
      {rules.rules !== null && (
        <>
          <Card title={trans.__('What you are told')}>
            <Rules model={rules} rules={rules.rules} />
          </Card>
          <Card title={trans.__('Where you are told')}>
            <Channels
              model={rules}
              rules={rules.rules}
              testing={testing}
              onTest={channel => void test(channel)}
            />
          </Card>
        </>
      )}
      <Card title={trans.__('What you were told in the last seven days')}>
        <Recent model={told} />
      </Card>
    </>
  );
}
