/** The names of the commands. */

export const CommandIDs = {
  /** Submit the open document, the file `path`, or a command. */
  submit: 'hai:submit',
  /** Submit what is selected in the file browser. */
  submitSelected: 'hai:submit-selected',
  /** Show the form, filled with the task `id`. */
  submitAgain: 'hai:submit-again',
  /** Show the task `id`. */
  openTask: 'hai:open-task',
  /** Show the environments. */
  environments: 'hai:environments',
  /** Show a `page` of Studio. */
  studio: 'hai:studio',
  /** Show the notebook of the examples. */
  examples: 'hai:examples',
  /** Show the panel. */
  showPanel: 'hai:show-panel'
} as const;
