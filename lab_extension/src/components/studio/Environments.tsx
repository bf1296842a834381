/** What tasks can run in: environments of haienv, and images. They are made and changed in JupyterLab or by `haienv`. */

import { useCallback, type JSX } from 'react';
import { trans } from '../../text/translate';
import { Reading, useAnswer } from '../react';
import { Table } from '../Table';
import { useStudio } from './context';

export function EnvironmentsPage(): JSX.Element {
  const { api } = useStudio();
  const { value, error } = useAnswer(useCallback(() => api.environments(), [api]));
  const items = value?.items ?? [];
  return (
    <>
      <h1>{trans.__('Environments')}</h1>
      <p className="hai-Soft">
        {trans.__(
          'What tasks can run in. Make and change your own ones in JupyterLab, or by the command haienv.'
        )}
      </p>
      <Reading error={error} ready={value !== null} />
      {value !== null && items.length === 0 && (
        <p className="hai-Empty">{trans.__('There are no environments yet.')}</p>
      )}
      {items.length > 0 && (
        <Table
          items={items}
          keyOf={one => one.name}
          columns={[
            { title: trans.__('Name'), head: true, cell: one => one.name },
            { title: trans.__('Kind'), cell: one => (one.kind === 'image' ? trans.__('image') : 'haienv') },
            { title: trans.__('Generation'), cell: one => one.haienv?.generation ?? '–' },
            { title: trans.__('Python'), cell: one => one.haienv?.python ?? one.python ?? '–' },
            { title: trans.__('CUDA'), cell: one => one.haienv?.cuda ?? '–' },
            { title: trans.__('Image'), cell: one => one.image ?? '–' }
          ]}
        />
      )}
    </>
  );
}
