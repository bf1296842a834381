/** A choice among few: the select of HTML, with an arrow in the colour of the theme. */

import type { JSX, SelectHTMLAttributes } from 'react';
import { Icon } from './icons';

export interface IOption {
  value: string;
  label: string;
}

/** The options are given as a list or as children. */
export function Select(
  props: Omit<SelectHTMLAttributes<HTMLSelectElement>, 'multiple'> & { options?: readonly IOption[] }
): JSX.Element {
  const { className, options = [], children, ...rest } = props;
  return (
    <span className={`hai-Select ${className ?? ''}`}>
      <select {...rest}>
        {options.map(option => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
        {children}
      </select>
      <Icon name="caret" />
    </span>
  );
}
