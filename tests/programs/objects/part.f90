! In place of plain.c: the same function from another language.
integer(c_int) function plain(i) bind(c)
  use iso_c_binding
  integer(c_int), value :: i
  integer(c_int) :: numbers(3)
  numbers = [5_c_int, i, 3_c_int]
  plain = sum(numbers) - maxval(numbers) - minval(numbers)
end function
