import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [
    {
      // JupyterLab's packages import .svg as strings.
      name: 'svg',
      enforce: 'pre',
      load(id) {
        return id.split('?')[0]?.endsWith('.svg')
          ? `export default '<svg xmlns="http://www.w3.org/2000/svg"/>'`
          : null;
      }
    }
  ],
  test: {
    environment: 'jsdom',
    setupFiles: ['./vitest.setup.ts'],
    include: ['src/**/*.spec.ts?(x)'],
    restoreMocks: true,
    server: {
      deps: {
        inline: [
          /@jupyterlab\//,
          /@jupyter\//,
          /@lumino\//,
          /@microsoft\//,
          /@codemirror\//,
          /y-protocols/,
          /exenv/
        ]
      }
    }
  }
});
