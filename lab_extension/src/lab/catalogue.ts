/** The texts in the language that JupyterLab is set to. */

import type { ITranslator } from '@jupyterlab/translation';
import { fill, takeCatalogue } from '../text/translate';

/** The name of our catalogue: `hai_lab/locale/LANGUAGE/LC_MESSAGES/hai_lab.json`. */
const DOMAIN = 'hai_lab';

/** JupyterLab's bundles fill places themselves, and an empty one with `undefined`: so each is filled with its own name. */
const PLACES = ['%1', '%2', '%3', '%4', '%5', '%6', '%7', '%8', '%9'];

/** Take the texts from JupyterLab's translator from now on. Plugins call it before they draw anything. */
export function takeTranslator(translator: ITranslator | null): void {
  if (translator === null) {
    return;
  }
  const bundle = translator.load(DOMAIN);
  takeCatalogue(
    {
      __: (text, ...values) => fill(bundle.__(text, ...PLACES), values),
      // Its first place is the number itself.
      _n: (one, many, n, ...values) => fill(bundle._n(one, many, n, ...PLACES.slice(1)), [n, ...values]),
      _p: (context, text, ...values) => fill(bundle._p(context, text, ...PLACES), values)
    },
    translator.languageCode.replace('_', '-')
  );
}
