/** The rule `hai/translated`: what users read goes through `trans` (src/text/translate.ts), and never when a module is loaded. */

/** Attributes and properties whose values users read. */
const READ = new Set([
  'alt',
  'aria-label',
  'body',
  'caption',
  'hint',
  'keep',
  'label',
  'legend',
  'placeholder',
  'title'
]);

/** A text of people: two words, or one that begins with a capital. Names of classes, tests and programs are not. */
const WORDS = /(^|[^\w%])[A-Z][a-z]+([ .,:…]|$)|[A-Za-z]{2,}[,.:;]? [a-zA-Z(“%]/;

/** Where a text is not for users. */
const TECHNICAL = new Set([
  'className',
  'data-testid',
  'd',
  'viewBox',
  'key',
  'id',
  'type',
  'role',
  'href',
  'style',
  'pattern',
  'around'
]);

export const translated = {
  meta: {
    type: 'problem',
    fixable: 'code',
    docs: { description: 'Texts for users go through trans, while something is drawn.' },
    messages: {
      literal:
        'Users read “{{text}}”: write trans.__(…), so that it can be translated (src/text/translate.ts).',
      early: 'This is translated when the module is loaded, before there is a catalogue: make it a function.',
      computed: 'Give trans a text that is written here, with %1, %2 for what is filled in.'
    },
    schema: []
  },
  create(context) {
    function isEarly(node) {
      let up = node.parent;
      while (up && !/Function|MethodDefinition|PropertyDefinition/.test(up.type)) up = up.parent;
      return !up || (up.type === 'PropertyDefinition' && up.static);
    }
    const calls = node =>
      node.type === 'CallExpression' &&
      node.callee.type === 'MemberExpression' &&
      node.callee.object.name === 'trans';
    function inside(node) {
      for (let [child, up] = [node, node.parent]; up; [child, up] = [up, up.parent]) {
        if (calls(up)) return true;
        if (up.type === 'JSXElement' && up.openingElement.name.name === 'code') return true;
        if (up.type === 'JSXAttribute')
          return TECHNICAL.has(nameOf(up.name)) || nameOf(up.name).startsWith('data-');
        if (
          up.type.startsWith('TS') ||
          up.type.startsWith('Import') ||
          (up.type === 'ExportNamedDeclaration' && up.source === node)
        )
          return true;
        if (up.type === 'NewExpression' && /^(Error|RegExp|TypeError|RangeError)$/.test(up.callee.name ?? ''))
          return true;
        if (
          up.type === 'Property' &&
          (up.key === node || up.key.name === 'description' || TECHNICAL.has(up.key.name))
        )
          return true;
        if (up.type === 'MemberExpression' && up.property === child) return true;
        if (up.type === 'BinaryExpression' && /[=<>]/.test(up.operator)) return true;
        if (up.type === 'SwitchCase' && up.test === node) return true;
        if (/Function|Program|ClassBody|Statement/.test(up.type)) return false;
      }
      return false;
    }
    const nameOf = name =>
      name.type === 'JSXNamespacedName' ? `${name.namespace.name}:${name.name.name}` : String(name.name);
    const quoted = text =>
      `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
    /** The call that translates a text, where it can be written here: the import of `trans` is the author's. */
    function translation(node) {
      const { sourceCode } = context;
      const values = (node.expressions ?? []).map(one => sourceCode.getText(one));
      const text = node.quasis
        ? node.quasis.map((part, at) => (at === 0 ? '' : `%${at}`) + part.value.cooked).join('')
        : node.value;
      const call = `trans.__(${[quoted(text), ...values].join(', ')})`;
      return node.parent.type === 'JSXAttribute' ? `{${call}}` : call;
    }
    function report(node, text) {
      const data = { text: text.trim().slice(0, 40) };
      const fix = isEarly(node) ? null : fixer => fixer.replaceText(node, translation(node));
      context.report({ node, messageId: 'literal', data, fix });
    }
    function check(node, text) {
      if (WORDS.test(text) && !inside(node)) {
        report(node, text);
      }
    }
    return {
      JSXText(node) {
        // The name of the platform is the same in all languages.
        if (/[A-Za-z]{2}/.test(node.value) && node.value.trim() !== 'HAI') {
          context.report({ node, messageId: 'literal', data: { text: node.value.trim().slice(0, 40) } });
        }
      },
      Literal(node) {
        if (typeof node.value !== 'string') return;
        const { parent } = node;
        const read =
          (parent.type === 'JSXAttribute' && READ.has(nameOf(parent.name))) ||
          (parent.type === 'Property' &&
            parent.value === node &&
            READ.has(parent.key.name ?? parent.key.value));
        // An example of a requirement is the same in all languages.
        const example = /^\w+==/.test(node.value);
        if (read && !example && /[A-Za-z]{2}/.test(node.value) && !inside(node)) {
          report(node, node.value);
          return;
        }
        check(node, node.value);
      },
      TemplateLiteral(node) {
        check(node, node.quasis.map(part => part.value.cooked ?? '').join('%'));
      },
      CallExpression(node) {
        if (!calls(node)) return;
        const { name } = node.callee.property;
        const texts = node.arguments.slice(0, name === '__' ? 1 : 2);
        if (texts.some(one => one.type !== 'Literal' || typeof one.value !== 'string')) {
          context.report({ node, messageId: 'computed' });
        }
        if (isEarly(node)) {
          context.report({ node, messageId: 'early' });
        }
      }
    };
  }
};
