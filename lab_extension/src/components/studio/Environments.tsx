/** What tasks can run in: environments of haienv, and images. They are made and changed in JupyterLab or by `haienv`. */

import { useEffect, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { IEnvironment } from '../../api/types';
import { trans } from '../../text/translate';
import { Notice } from '../react';
import { useStudio } from './context';

export function EnvironmentsPage(): JSX.Element {
  const { api } = useStudio();
  const [items, setItems] = useState<readonly IEnvironment[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    api.environments().then(
      found => setItems(found.items),
      (reason: unknown) => setError(sentenceOf(reason))
    );
  }, [api]);
  return (
    <>
      <h1>{trans.__('Environments')}</h1>
      <p className="hai-Soft">
        {trans.__(
          'What tasks can run in. Make and change your own ones in JupyterLab, or by the command haienv.'
        )}
      </p>
      {error !== null && <Notice kind="error">{error}</Notice>}
      {items === null && error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {items?.length === 0 && <p className="hai-Empty">{trans.__('There are no environments yet.')}</p>}
      {items !== null && items.length > 0 && (
        <div className="hai-Table-scroll">
          <table className="hai-Table">
            <thead>
              <tr>
                <th scope="col">{trans.__('Name')}</th>
                <th scope="col">{trans.__('Kind')}</th>
                <th scope="col">{trans.__('Generation')}</th>
                <th scope="col">{trans.__('Python')}</th>
                <th scope="col">{trans.__('CUDA')}</th>
                <th scope="col">{trans.__('Image')}</th>
              </tr>
            </thead>
            <tbody>
              {items.map(one => (
                <tr key={one.name}>
                  <th scope="row">{one.name}</th>
                  <td>{one.kind === 'image' ? trans.__('image') : 'haienv'}</td>
                  <td>{one.haienv?.generation ?? '–'}</td>
                  <td>{one.haienv?.python ?? one.python ?? '–'}</td>
                  <td>{one.haienv?.cuda ?? '–'}</td>
                  <td>{one.image ?? '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
