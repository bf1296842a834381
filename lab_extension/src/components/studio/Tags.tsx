/** The tags of a task in its row: each finds the tasks that have it, and all are edited as one text. */

import { useState, type JSX, type KeyboardEvent } from 'react';
import type { ITaskSummary } from '../../api/types';
import { trans } from '../../text/translate';
import { tagsOf } from './rows';

export function Tags(props: {
  task: ITaskSummary;
  onFind: (tag: string) => void;
  onEdit: () => void;
}): JSX.Element {
  const { task } = props;
  return (
    <>
      {task.tags.map(tag => (
        <button
          key={tag}
          className="hai-Tag"
          title={trans.__('Show the tasks with the tag %1', tag)}
          onClick={() => props.onFind(tag)}
        >
          {tag}
        </button>
      ))}
      <button
        className="hai-Tag hai-mod-edit"
        aria-label={trans.__('Edit the tags of %1 (#%2)', task.name, task.id)}
        title={trans.__('Edit the tags')}
        onClick={props.onEdit}
      >
        <span aria-hidden="true">+</span>
      </button>
    </>
  );
}

/** A field in place of the tags: Enter keeps what it says, Escape what was there. */
export function TagsField(props: {
  task: ITaskSummary;
  onSave: (tags: readonly string[]) => void;
  onLeave: () => void;
}): JSX.Element {
  const { task } = props;
  const [text, setText] = useState(task.tags.join(', '));
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      props.onSave(tagsOf(text));
    } else if (event.key === 'Escape') {
      props.onLeave();
    }
  };
  return (
    <input
      className="hai-Tag-field jp-mod-styled"
      autoFocus
      aria-label={trans.__('Tags of %1 (#%2), between commas', task.name, task.id)}
      placeholder={trans.__('Tags, between commas')}
      value={text}
      onChange={event => setText(event.target.value)}
      onKeyDown={press}
      onBlur={props.onLeave}
    />
  );
}
