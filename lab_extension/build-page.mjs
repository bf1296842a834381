// Builds the page of the service out of lib/page/main.js into hai_lab/page: one script and one style sheet whose names hold
// digests, and the document that loads them. It fails when browsers would have to fetch more than LIMIT.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT = 350 * 1024;
const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, 'hai_lab', 'page');
const locales = join(here, 'hai_lab', 'locale');
const development = process.argv.includes('--development');

// The bundler that also makes the extension of JupyterLab.
const require = createRequire(import.meta.url);
const { rspack } = createRequire(require.resolve('@jupyter/builder/package.json'))('@rspack/core');
// Licences of others whose code is in the bundle, in the file that the extension of JupyterLab has too.
const { WPPlugin } = require('@jupyter/builder');
// Lumino's packages come without a text of their licence: it is that of the builder, with the names in Lumino's sources.
const licenceWithout = name => {
  if (!name.startsWith('@lumino/')) {
    throw new Error(`${name} comes without a text of its licence: find it, and say here where it is`);
  }
  return readFileSync(
    join(dirname(require.resolve('@jupyter/builder/package.json')), 'LICENSE'),
    'utf8'
  ).replace(
    /^Copyright .*$/m,
    'Copyright (c) Jupyter Development Team\nCopyright (c) 2014-2017, PhosphorJS Contributors'
  );
};

const DOCUMENT = (script, style, catalogues) => `<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>HAI</title>
<link rel="icon" href="%PREFIX%page/${icon}" type="image/svg+xml">
<link rel="stylesheet" href="%PREFIX%page/${style}">
<script defer src="%PREFIX%page/${script}"></script>
</head>
<body>
<noscript>HAI needs JavaScript: switch it on for this address, or use JupyterLab or the command \`hai\`.</noscript>
<div id="hai" data-prefix="%PREFIX%" data-hub="%HUB%" data-catalogues="${catalogues}"></div>
</body>
</html>
`;

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const stats = await new Promise((resolve, reject) =>
  rspack(
    {
      context: here,
      mode: development ? 'development' : 'production',
      devtool: development ? 'source-map' : false,
      entry: { main: './lib/page/main.js' },
      output: {
        path: out,
        filename: '[name].[contenthash:16].js',
        cssFilename: '[name].[contenthash:16].css',
        assetModuleFilename: '[name].[contenthash:16][ext]',
        publicPath: ''
      },
      module: {
        rules: [
          { test: /\.css$/, type: 'css' },
          { test: /\.svg$/, type: 'asset/resource' }
        ]
      },
      plugins: development
        ? []
        : [
            new WPPlugin.JSONLicenseWebpackPlugin({
              excludedPackageTest: name => name === 'hai-lab',
              handleMissingLicenseText: licenceWithout
            })
          ],
      performance: { hints: false }
    },
    (error, result) => (error ? reject(error) : resolve(result))
  )
);
if (stats.hasErrors()) {
  process.stderr.write(`${stats.toString({ all: false, errors: true })}\n`);
  process.exit(1);
}

const one = ending => {
  const found = readdirSync(out).filter(name => name.endsWith(ending));
  if (found.length !== 1) {
    throw new Error(`the page should have one file ${ending}, and has ${found.length}: ${found.join(', ')}`);
  }
  return found[0];
};
const [script, style, icon] = ['.js', '.css', '.svg'].map(one);
// The catalogues of JupyterLab's translator, for the page under names that hold digests: `zh-CN=zh_CN.1234.json`.
const catalogues = readdirSync(locales).map(locale => {
  const text = JSON.stringify(
    JSON.parse(readFileSync(join(locales, locale, 'LC_MESSAGES', 'hai_lab.json'), 'utf8'))
  );
  const name = `${locale}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`;
  writeFileSync(join(out, name), text);
  return `${locale.replace('_', '-')}=${name}`;
});
writeFileSync(join(out, 'index.html'), DOCUMENT(script, style, catalogues.join(' ')));

const size = [script, style, icon].reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(out, name))).length,
  0
);
process.stdout.write(`the page: ${(size / 1024).toFixed(1)} KB compressed of at most ${LIMIT / 1024} KB\n`);
if (!development && size > LIMIT) {
  process.stderr.write('the page is too large: leave out or load later what few need\n');
  process.exit(1);
}
