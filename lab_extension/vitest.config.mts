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
    // A worker imports JupyterLab's packages once, and not for each file again: that is most of the time. Each test leaves nothing behind.
    isolate: false,
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
